"""From logits to the distribution that is really sampled: one chain for target and draft, for every row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specdesk.core.sampling import Sampling

_BLOCK = 64
"""Width of the blocks whose maxima bound the k-th largest logit; a cache line or two, and SIMD-friendly."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """A distribution over its support only. ids (m,) int64 ascending and distinct; probs (m,) float64, sum 1."""

    ids: NDArray[np.int64]
    probs: NDArray[np.float64]

    def prob(self, token: int) -> float:
        """Probability of one token; 0 outside the support."""
        at = int(np.searchsorted(self.ids, token))
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
        at = int(np.searchsorted(self.ids, token))
        if at == self.ids.size or self.ids[at] != token:
            return 1.0
        own = scores[at]
        return float(self.probs[(scores > own) | ((scores == own) & (self.ids < token))].sum())

    def probs_of(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Probabilities of `ids` (n,) in the order given, shape (n,)."""
        at = np.minimum(np.searchsorted(self.ids, ids), self.ids.size - 1)
        return np.where(self.ids[at] == ids, self.probs[at], 0.0)

    def draw(self, rng: np.random.Generator) -> int:
        """One token, by inversion of a single uniform number."""
        cumulative = np.cumsum(self.probs)
        at = np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right")
        return int(self.ids[min(int(at), self.ids.size - 1)])


def certain(token: int) -> Distribution:
    """All probability on one token."""
    return Distribution(np.array([token], dtype=np.int64), np.ones(1))


def warp(logits: NDArray[np.float32], sampling: Sampling, seen: Sequence[int] = ()) -> Distribution:
    """The distribution that `sampling` makes of one row of logits, shape (n_vocab,), which is left untouched.

    `seen` is the text before the row as far as the penalties look: `sampling.seen(text)`. Raises FloatingPointError if
    the row has NaN, infinity or nothing finite.
    """
    row = _adjusted(logits, sampling, seen)
    peak = float(row.max())
    if not math.isfinite(peak):
        raise FloatingPointError(f"the model produced unusable logits (largest: {peak})")
    if sampling.temperature == 0 and sampling.typical_p == 1:
        return certain(int(row.argmax()))

    ids, x, mass = _candidates(row, peak, sampling)
    if sampling.typical_p < 1:
        typical = _typical(x, sampling.typical_p)
        ids, x = ids[typical], x[typical] - x[typical].max()
        mass = float(np.exp(x).sum())
    # Min-p may cut before top-p: top-p sums over more probable tokens only, and its total is already taken.
    if sampling.min_p > 0:
        kept = x >= math.log(sampling.min_p)
        ids, x = ids[kept], x[kept]
    if sampling.top_p < 1:
        order = np.argsort(-x, kind="stable")
        reached = int(np.searchsorted(np.cumsum(np.exp(x[order])), sampling.top_p * mass))
        kept = np.sort(order[: reached + 1])
        ids, x = ids[kept], x[kept]
    if sampling.temperature == 0:
        return certain(int(ids[int(x.argmax())]))
    with np.errstate(over="ignore"):  # at tiny temperatures all but the largest become minus infinity, as they should
        weights = np.exp(x / sampling.temperature)
    return Distribution(ids, weights / weights.sum())


def _adjusted(logits: NDArray[np.float32], sampling: Sampling, seen: Sequence[int]) -> NDArray[np.float32]:
    """The row with bias and penalties; the row itself where there are none."""
    if not sampling.logit_bias and not seen:
        return logits
    row = logits.copy()
    for token, bias in sampling.logit_bias:
        if token < row.size:
            row[token] += np.float32(bias)
    if seen:
        tokens, counts = np.unique(np.fromiter(seen, np.int64), return_counts=True)
        counts, tokens = counts[tokens < row.size], tokens[tokens < row.size]
        x = row[tokens]
        penalty = np.float32(sampling.repeat_penalty)
        x = np.where(x <= 0, x * penalty, x / penalty)
        row[tokens] = x - (counts * sampling.frequency_penalty + sampling.presence_penalty).astype(np.float32)
    return row


def _candidates(
    row: NDArray[np.float32], peak: float, sampling: Sampling
) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:
    """What top-n-sigma and top-k leave: ids ascending, logits relative to the peak, and their total weight.

    Tokens that top-p is certain to drop later may be missing already; their weight is in the total.
    """
    n = row.size
    if sampling.top_n_sigma > 0:
        deviation = float(row[np.isfinite(row)].std(dtype=np.float64))
        ids = np.flatnonzero(row >= peak - sampling.top_n_sigma * deviation)
        if 0 < sampling.top_k < ids.size:
            ids = np.sort(ids[np.argsort(-row[ids], kind="stable")[: sampling.top_k]])
    elif 0 < sampling.top_k < n:
        ids = _top_k(row, sampling.top_k)
    elif sampling.typical_p < 1:
        ids = np.flatnonzero(row > -np.inf)
    else:
        mass = float(np.exp(row - np.float32(peak)).sum(dtype=np.float64))
        # All tokens under this floor together weigh less than top-p leaves out, so none of them is in the nucleus:
        # the sort for top-p sees hundreds of candidates instead of the vocabulary.
        floor = math.log((1 - sampling.top_p) * mass / n) if sampling.top_p < 1 else -math.inf
        ids = np.flatnonzero(row >= peak + floor)
        return ids, row[ids].astype(np.float64) - peak, mass
    x = row[ids].astype(np.float64) - peak
    return ids, x, float(np.exp(x).sum())


def _typical(x: NDArray[np.float64], typical_p: float) -> NDArray[np.int64]:
    """Positions, ascending, of the tokens whose surprise is nearest the expected one, until they pass `typical_p`.

    Source: Meister et al., arXiv:2202.00666, section 3.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        log_p = x - math.log(float(np.exp(x).sum()))
        p = np.exp(log_p)
        entropy = -float(np.nansum(p * log_p))
    order = np.argsort(np.abs(-log_p - entropy), kind="stable")
    passed = int(np.searchsorted(np.cumsum(p[order]), typical_p, side="right"))
    return np.sort(order[: passed + 1])


def _top_k(logits: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """Ids of the k highest logits, ascending; among equals at the cut the lowest ids stay.

    A full partition of a 150,000-entry row costs over a millisecond. The k-th largest of the blocks' maxima is at most
    the k-th largest logit, so one pass over the row leaves a few hundred candidates.
    """
    whole = logits.size // _BLOCK * _BLOCK
    maxima = logits[:whole].reshape(-1, _BLOCK).max(axis=1)
    if k <= maxima.size:
        bound = np.partition(maxima, -k)[-k]
        candidates = np.flatnonzero(logits >= bound)
    else:
        candidates = np.arange(logits.size)
    best = np.argsort(-logits[candidates], kind="stable")[:k]
    return np.sort(candidates[best])
