"""What was measured of a pair under several settings, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from specdesk.core.costs import PairCosts, PassCosts
from specdesk.core.tuning import Candidate, fastest, pace, rescaled, standing
from specdesk.engine.calibrate import TARGET_SIZES
from specdesk.engine.tuning.report import CacheTried, FormatTried, ThreadsTried
from specdesk.memory import CacheType

_DEPTH: Final = 256
"""Tokens in the cache for which formats and threads are compared: a question and half an answer."""
_DEEP: Final = 1000
"""The same for cache types, which matter only where the cache is long."""
_WORTH: Final = 0.05
"""Part by which another cache type must be faster: it changes the target's numbers a little."""
_MOST: Final = TARGET_SIZES[-1] - 1
"""Draft tokens that are weighed at most."""


@dataclass(frozen=True, slots=True)
class DraftFigures:
    """What a draft model was found to be."""

    agreements: Sequence[Sequence[float]]
    """How likely each token of some answers would be accepted from it."""
    costs: Mapping[int, PassCosts]
    """For each number of threads."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Costs and acceptance, before anything is chosen."""

    n_given: int
    """Threads as given."""
    staircase: PassCosts
    """The target's passes of all sizes with so many."""
    probes: Mapping[int, PassCosts]
    """Those of some sizes, for each number of threads."""
    drafts: Mapping[str | None, DraftFigures]
    """For each format; None: as given."""

    def pace(self, kind: str | None, n_threads: int, probes: PassCosts | None = None, depth: int = _DEPTH) -> float:
        """Expected tokens per second; `probes` stand in for those of the threads."""
        target = rescaled(self.staircase, probes or self.probes[n_threads], self.probes[self.n_given])
        draft = self.drafts[kind]
        return pace(PairCosts(target, draft.costs[n_threads]), standing(draft.agreements, _MOST), depth)

    def fastest(self) -> tuple[str | None, int]:
        """The format and the number of threads that are fastest together."""
        ways = [(kind, n_threads) for kind in self.drafts for n_threads in self.probes]
        candidates = [Candidate(self.pace(kind, n), (kind is not None) + (n != self.n_given)) for kind, n in ways]
        return ways[fastest(candidates)]

    def formats(self, files: Mapping[str | None, Path]) -> list[FormatTried]:
        """Each format, with as many threads as given; `files` are where they lie."""
        return [
            FormatTried(
                kind,
                files[kind].stat().st_size,
                1000 * draft.costs[self.n_given].seconds(1, _DEPTH),
                _mean([chance for answer in draft.agreements for chance in answer]),
                self.pace(kind, self.n_given),
            )
            for kind, draft in self.drafts.items()
        ]

    def threads(self, kind: str | None) -> list[ThreadsTried]:
        """Each number of threads, with the draft in a format."""
        return [
            ThreadsTried(
                n,
                1000 * probe.seconds(1, _DEPTH),
                1000 * probe.seconds(5, _DEPTH),
                1000 * self.drafts[kind].costs[n].seconds(1, _DEPTH),
                self.pace(kind, n),
            )
            for n, probe in self.probes.items()
        ]

    def cache(self, kind: str | None, n_threads: int, name: CacheType, probes: PassCosts) -> CacheTried:
        """A type for the keys, with which `probes` were measured."""
        return CacheTried(name, self.pace(kind, n_threads, probes, _DEEP))


def worthwhile(caches: Sequence[CacheTried]) -> CacheType | None:
    """The type that is clearly faster than the first, which is the default; None if none is."""
    best = max(caches, key=lambda tried: tried.pace)
    return best.cache_type_k if best.pace > caches[0].pace * (1.0 + _WORTH) else None


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
