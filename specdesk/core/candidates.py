"""The tokens that may come next, of a whole row or of as few as decide under a constraint."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from specdesk.core.constraint import Allowed, DeadEnd

Row = NDArray[np.float32]
"""Logits, shape (n,)."""

_DEPTH = 64
"""Most logits in a group of those whose maxima bound the k-th largest of the row."""
_CHUNKS = (64, 256, 1024, 4096)
"""How many tokens a constraint is asked about at a time, before it is asked about all that are left."""


def lead(row: Row) -> float:
    """How far the highest logit is above the second; infinity in a row of one."""
    at = int(row.argmax())
    others = [part.max() for part in (row[:at], row[at + 1 :]) if part.size]
    return float(row[at] - max(others)) if others else float("inf")


@dataclass(frozen=True, slots=True)
class Rest:
    """Tokens that may turn out to be candidates too, at most `most` of these."""

    logits: Row
    """Minus infinity for those that are out."""
    most: int

    @property
    def ceiling(self) -> float:
        """The highest logit among them."""
        return float(self.logits.max())

    def weight(self, peak: float, temperature: float) -> float:
        """The most they can weigh together, where `peak` weighs 1."""
        weights = _weights(self.logits, peak, temperature)
        return min(self.most * float(weights.max()), float(weights.sum()))


@dataclass(frozen=True, slots=True)
class Candidates:
    """What the samplers so far have left. ids (m,) int64 ascending and distinct, m >= 1; logits (m,) float32.

    In order of their logits, and of their ids among equals, every candidate comes before all of the rest.
    """

    ids: NDArray[np.int64]
    logits: Row
    temperature: float = 1.0
    """Above 0. Logits stay undivided until they become weights, so that no temperature is too small for them."""
    rest: Rest | None = None
    """None: these are all."""

    @property
    def peak(self) -> float:
        """The highest logit."""
        return float(self.logits.max())

    def take(self, positions: NDArray[np.int64], rest: Rest | None = None) -> Self:
        """Those at `positions`, ascending, and `rest`."""
        return replace(self, ids=self.ids[positions], logits=self.logits[positions], rest=rest)

    def weights(self) -> NDArray[np.float64]:
        """Probabilities but for a factor, (m,): the highest is 1."""
        return _weights(self.logits, self.peak, self.temperature)

    def descending(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """Positions and weights, heaviest first: of a few hundred tokens, then of more, at last of all."""
        for n in (256, 4096):
            if n < self.ids.size:
                yield self._heaviest(n)
        yield self._heaviest(self.ids.size)

    def _heaviest(self, n: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        order = highest(self.logits, n)
        return order, _weights(self.logits[order], self.peak, self.temperature)


def whole(row: Row) -> Candidates:
    """All tokens of a row."""
    return Candidates(_every_id(row.size), row)


@lru_cache(maxsize=2)  # a row each of target and draft: making it takes longer than a greedy choice
def _every_id(n: int) -> NDArray[np.int64]:
    ids = np.arange(n)
    ids.setflags(write=False)
    return ids


def usable(candidates: Candidates) -> Candidates:
    """The candidates. Raises FloatingPointError if they have NaN, infinity or nothing finite."""
    if not math.isfinite(candidates.peak):
        raise FloatingPointError(f"the model produced unusable logits (largest: {candidates.peak})")
    return candidates


def permitted(row: Candidates, allowed: Allowed | None) -> Iterator[Candidates]:
    """What a constraint lets through of `row`, which has no rest: first the highest few, then more, at last all.

    Each time the tokens not asked about are the rest. No token is asked about twice, and none whose logit is minus
    infinity. Without a constraint it is the row. Raises DeadEnd at the end if nothing is let through.
    """
    if allowed is None:
        yield row
        return
    untested = row.logits.copy()
    n_left = int(np.count_nonzero(untested > -np.inf))
    let_through = np.empty(0, np.int64)
    for size in _CHUNKS:
        if n_left <= size:
            break
        chunk = highest(untested, size)
        let_through = np.sort(np.concatenate([let_through, chunk[allowed(row.ids[chunk])]]))
        untested[chunk] = -np.inf
        n_left -= size
        if let_through.size:
            yield row.take(let_through, Rest(untested, n_left))
    last = np.flatnonzero(untested > -np.inf)
    if last.size:
        let_through = np.sort(np.concatenate([let_through, last[allowed(row.ids[last])]]))
    if let_through.size == 0:
        raise DeadEnd
    yield row.take(let_through)


def highest(logits: Row, k: int) -> NDArray[np.int64]:
    """Positions of the k highest logits, or of all if there are fewer, highest first and equals by position."""
    few = np.flatnonzero(logits >= _bound(logits, k)) if k < logits.size else np.arange(logits.size)
    return few[np.argsort(-logits[few], kind="stable")[:k]]


def _bound(logits: Row, k: int) -> np.float32:
    """A number that at least k logits reach, and not many more, for k < n.

    Partitioning a row of 150,000 takes a millisecond. The k-th largest of the maxima of disjoint groups is at most the
    k-th largest logit and takes a tenth of that. The groups lie across the row, since NumPy then compares whole
    stretches of it. Twice as many groups as k keep the bound tight.
    """
    depth = max(1, min(_DEPTH, logits.size // (2 * k)))
    n_groups = logits.size // depth
    maxima = logits[: depth * n_groups].reshape(depth, n_groups).max(axis=0)
    bound: np.float32 = np.partition(maxima, -k)[-k]
    return bound


def _weights(logits: Row, peak: float, temperature: float) -> NDArray[np.float64]:
    # In place: over a whole row, fresh memory for each step would cost more than the exponentials do.
    x = logits.astype(np.float64)
    x -= peak
    # At tiny temperatures all but the largest become minus infinity, as they should.
    with np.errstate(over="ignore"):
        x /= temperature
    return np.exp(x, out=x)
