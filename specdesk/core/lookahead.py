"""How many tokens to draft next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Plan:
    """At most how many tokens to draft for the next target pass, and why."""

    n_draft: int
    reason: str


class Lookahead(Protocol):
    """Decides before each step. It must not look at a token that could then be thrown away."""

    def plan(self, step: int, room: int) -> Plan:
        """The plan for step `step` (0-based); `room` is the most draft tokens that limits and context allow."""


def most_drafted(wanted: int, *, can_draft: bool, widest: int | None) -> int:
    """How many of the `wanted` tokens are drafted at most: none without a drafter, and no more than a pass may hold.

    `widest` is the most tokens of a target pass; None: no limit.
    """
    if not can_draft:
        return 0
    return wanted if widest is None else min(wanted, widest - 1)


class FixedLookahead:
    """Always K tokens, but for a few plain steps that measure what plain decoding costs here and now.

    Those steps write a token like any other. Steps 1 and 3, counted from 0, then one in `MEASURE_EVERY`: the machine's
    speed drifts and the context grows, so one measurement at the start would not do. Which steps they are depends on
    the count alone.
    """

    MEASURE_FIRST = (1, 3)
    MEASURE_EVERY = 8

    def __init__(self, k: int) -> None:
        """Raises ValueError if k is negative."""
        if k < 0:
            raise ValueError(f"the lookahead must be 0 (plain) or more, not {k}")
        self._k = k

    def plan(self, step: int, room: int) -> Plan:
        """K, or less where there is no room for K; 0 in a measuring step."""
        if self._k == 0:
            return Plan(0, "plain decoding")
        if step in self.MEASURE_FIRST or (step and step % self.MEASURE_EVERY == 0):
            return Plan(0, "measuring plain decoding")
        if room < self._k:
            return Plan(room, "close to a limit")
        return Plan(self._k, "fixed")
