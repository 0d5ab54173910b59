"""From logits to the distribution that is really sampled: one chain for target and draft, for every row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from specdesk.core import samplers
from specdesk.core.candidates import Candidates, Row, permitted, usable, whole
from specdesk.core.constraint import Allowed
from specdesk.core.sampling import SamplerName, Sampling

_LOOKS_AT_ALL = frozenset({SamplerName.PENALTIES, SamplerName.TOP_N_SIGMA, SamplerName.TYPICAL_P})
"""Samplers whose result any token may change, however unlikely it is."""
_MAY_DETHRONE = frozenset({SamplerName.PENALTIES, SamplerName.TYPICAL_P})
"""Samplers after which another token may be the likeliest."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """A distribution over its support only. ids (m,) int64 ascending and distinct; probs (m,) float64, sum 1."""

    ids: NDArray[np.int64]
    probs: NDArray[np.float64]

    def prob(self, token: int) -> float:
        """Probability of one token; 0 outside the support."""
        at = int(self.ids.searchsorted(token))
        return float(self.probs[at]) if at < self.ids.size and self.ids[at] == token else 0.0

    def ahead(self, token: int) -> float:
        """Probability of all tokens likelier than this one; among equals the lower id comes first.

        1 for a token outside the support. The intervals [ahead, ahead + prob) of the support's tokens partition [0, 1).
        """
        return self._before(token, self.probs)

    def favoured(self, token: int, q: Distribution) -> float:
        """The same, the tokens ordered by how much more likely they are in `q`."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self._before(token, q.probs_of(self.ids) / self.probs)

    def _before(self, token: int, scores: NDArray[np.float64]) -> float:
        """Probability of what scores higher than `token`, or as high with a lower id."""
        at = int(self.ids.searchsorted(token))
        if at == self.ids.size or self.ids[at] != token:
            return 1.0
        own = scores[at]
        return float(self.probs[(scores > own) | ((scores == own) & (self.ids < token))].sum())

    def probs_of(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Probabilities of `ids` (n,) in the order given, shape (n,)."""
        if np.array_equal(ids, self.ids):  # as with an open vocabulary, where looking each up takes milliseconds
            return self.probs
        at = np.minimum(self.ids.searchsorted(ids), self.ids.size - 1)
        return np.where(self.ids[at] == ids, self.probs[at], 0.0)

    def likeliest(self, n: int) -> list[tuple[int, float]]:
        """At most `n` tokens with their probabilities, the likeliest first; among equals the lower id."""
        order = np.lexsort((self.ids, -self.probs))[:n] if n else np.empty(0, np.int64)
        return [(int(self.ids[at]), float(self.probs[at])) for at in order]

    def draw(self, rng: np.random.Generator) -> int:
        """One token, by inversion of a single uniform number."""
        cumulative = np.cumsum(self.probs)
        at = np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right")
        return int(self.ids[min(int(at), self.ids.size - 1)])


def certain(token: int) -> Distribution:
    """All probability on one token."""
    return Distribution(np.array([token], dtype=np.int64), np.ones(1))


def warp(logits: Row, sampling: Sampling, seen: Sequence[int] = (), allowed: Allowed | None = None) -> Distribution:
    """The distribution that `sampling` makes of one row of logits, shape (n_vocab,) float32, which is left untouched.

    `seen` is the text before the row as far as the penalties look: `sampling.seen(text)`. With `allowed` the result is
    that of setting the logits of all tokens not allowed to minus infinity before anything else. Tokens are asked about
    from the likeliest down, each once, and no more chunks of them than it takes to be certain of the result.

    Raises: FloatingPointError if the row has NaN, infinity or nothing finite; DeadEnd if `allowed` allows no token
    whose logit is finite.
    """
    names = _in_force(sampling, seen)
    row = usable(whole(_biased(logits, sampling.logit_bias)))
    if names[:1] == [SamplerName.PENALTIES]:
        # A penalty looks at its token alone, so it makes no difference that the constraint comes after it.
        row = _applied(names.pop(0), row, sampling, seen)
    for candidates in permitted(row, allowed):
        left = _narrowed(candidates, names, sampling, seen)
        if left.rest is None:
            break
    return _distribution(left)


def _in_force(sampling: Sampling, seen: Sequence[int]) -> list[SamplerName]:
    """The samplers that make a difference, in order."""
    on = {
        SamplerName.PENALTIES: len(seen) > 0,
        SamplerName.TOP_N_SIGMA: sampling.top_n_sigma > 0,
        SamplerName.TOP_K: sampling.top_k > 0,
        SamplerName.TYPICAL_P: sampling.typical_p < 1,
        SamplerName.TOP_P: sampling.top_p < 1,
        SamplerName.MIN_P: sampling.min_p > 0,
        SamplerName.TEMPERATURE: sampling.temperature != 1,
    }
    names = [name for name in sampling.samplers if on[name]]
    if sampling.applied_temperature > 0:
        return names
    # Greedy: one token is left from there on, and before it nothing matters that keeps the likeliest one.
    before = names[: names.index(SamplerName.TEMPERATURE)]
    while before and before[-1] not in _MAY_DETHRONE:
        before.pop()
    return [*before, SamplerName.TEMPERATURE]


def _biased(logits: Row, biases: Sequence[tuple[int, float]]) -> Row:
    """The row with the biases; the row itself where there are none."""
    if not biases:
        return logits
    row = logits.copy()
    for token, bias in biases:
        if token < row.size:
            row[token] += np.float32(bias)
    return row


def _narrowed(
    candidates: Candidates, names: Sequence[SamplerName], sampling: Sampling, seen: Sequence[int]
) -> Candidates:
    """What the samplers leave. If it has a rest, more of the row must be known to tell."""
    for name in names:
        if candidates.rest is not None and name in _LOOKS_AT_ALL:
            break
        candidates = _applied(name, candidates, sampling, seen)
    return candidates


def _applied(name: SamplerName, candidates: Candidates, sampling: Sampling, seen: Sequence[int]) -> Candidates:
    match name:
        case SamplerName.PENALTIES:
            return samplers.penalties(
                candidates,
                seen,
                repeat=sampling.repeat_penalty,
                frequency=sampling.frequency_penalty,
                presence=sampling.presence_penalty,
            )
        case SamplerName.TOP_N_SIGMA:
            return samplers.top_n_sigma(candidates, sampling.top_n_sigma)
        case SamplerName.TOP_K:
            return samplers.top_k(candidates, sampling.top_k)
        case SamplerName.TYPICAL_P:
            return samplers.typical(candidates, sampling.typical_p)
        case SamplerName.TOP_P:
            return samplers.top_p(candidates, sampling.top_p)
        case SamplerName.MIN_P:
            return samplers.min_p(candidates, sampling.min_p)
        case SamplerName.TEMPERATURE:
            return samplers.temperature(candidates, sampling.temperature)
        case _:
            assert_never(name)


def _distribution(candidates: Candidates) -> Distribution:
    there = np.flatnonzero(candidates.logits > -np.inf)
    weights = candidates.weights()[there]
    return Distribution(candidates.ids[there], weights / weights.sum())
