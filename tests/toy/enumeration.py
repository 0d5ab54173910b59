"""Every way chance can fall, with its exact probability."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from specdesk.core.warp import Distribution

T = TypeVar("T")


class Path:
    """Chance that follows given decisions, then takes the first possible ones; remembers what else was possible."""

    def __init__(self, decisions: Sequence[int]) -> None:
        self._given = list(decisions)
        self.decisions: list[int] = []
        self.options: list[list[int]] = []
        self.probability = 1.0

    def happens(self, probability: float) -> bool:
        p = min(1.0, max(0.0, probability))
        return bool(self._decide({1: p, 0: 1.0 - p}))

    def draw(self, law: Distribution) -> int:
        return self._decide({int(token): float(p) for token, p in zip(law.ids, law.probs, strict=True)})

    def _decide(self, chances: dict[int, float]) -> int:
        possible = [outcome for outcome, p in chances.items() if p > 0]
        at = len(self.decisions)
        outcome = self._given[at] if at < len(self._given) else possible[0]
        self.decisions.append(outcome)
        self.options.append(possible)
        self.probability *= chances[outcome]
        return outcome


def every_path(run: Callable[[Path], T]) -> Iterator[tuple[T, float]]:
    """Run with every outcome of every decision; yields each result with its probability."""
    pending: list[list[int]] = [[]]
    while pending:
        given = pending.pop()
        path = Path(given)
        yield run(path), path.probability
        for at in range(len(given), len(path.decisions)):
            for other in path.options[at]:
                if other != path.decisions[at]:
                    pending.append([*path.decisions[:at], other])  # noqa: PERF401 — clearer than a comprehension
