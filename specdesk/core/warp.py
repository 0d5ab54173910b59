"""From logits to the distribution that is really sampled: one chain for target and draft, for every row."""

from __future__ import annotations

import math
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


def warp(logits: NDArray[np.float32], sampling: Sampling) -> Distribution:
    """The distribution that `sampling` makes of one row of logits, shape (n_vocab,), which is left untouched.

    Raises FloatingPointError if the row has NaN, infinity or nothing finite.
    """
    peak = float(logits.max())
    if not math.isfinite(peak):
        raise FloatingPointError(f"the model produced unusable logits (largest: {peak})")
    if sampling.temperature == 0:
        return certain(int(logits.argmax()))

    n = logits.size
    if 0 < sampling.top_k < n:
        ids = _top_k(logits, sampling.top_k)
        x = logits[ids].astype(np.float64) - peak
        mass = float(np.exp(x).sum())
    else:
        mass = float(np.exp(logits - np.float32(peak)).sum(dtype=np.float64))
        # All tokens under this floor together weigh less than top-p leaves out, so none of them is in the nucleus:
        # the sort below sees hundreds of candidates instead of the vocabulary.
        floor = math.log((1 - sampling.top_p) * mass / n) if sampling.top_p < 1 else -math.inf
        ids = np.flatnonzero(logits >= peak + floor)
        x = logits[ids].astype(np.float64) - peak

    # Min-p may cut before top-p: top-p sums over more probable tokens only, and its total is already taken.
    if sampling.min_p > 0:
        kept = x >= math.log(sampling.min_p)
        ids, x = ids[kept], x[kept]
    if sampling.top_p < 1:
        order = np.argsort(-x, kind="stable")
        reached = int(np.searchsorted(np.cumsum(np.exp(x[order])), sampling.top_p * mass))
        kept = np.sort(order[: reached + 1])
        ids, x = ids[kept], x[kept]

    with np.errstate(over="ignore"):  # at tiny temperatures all but the largest become minus infinity, as they should
        weights = np.exp(x / sampling.temperature)
    return Distribution(ids, weights / weights.sum())


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
