"""How many tokens to draft next, and with which drafter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from specdesk.core.acceptance import Evidence
from specdesk.core.drafters.protocol import Drafter, Prospect
from specdesk.core.events import Step
from specdesk.core.verify import DraftToken


@dataclass(frozen=True, slots=True)
class Plan:
    """What to draft for the next target pass, and why."""

    n_draft: int
    """Tokens at most; 0: none."""
    drafter: Drafter | None
    """Whose; None with 0 tokens."""
    reason: str


class Lookahead(Protocol):
    """Decides before each step, and in it before each further token.

    It may look at tokens that were drawn, since those are kept; never at one that could then be thrown away.
    """

    def plan(self, depth: int, room: int, prospects: Mapping[Drafter, Prospect]) -> Plan:
        """The plan for the next step, with `depth` tokens written so far, prompt included.

        `room` is the most draft tokens that limits and context allow; `prospects` holds the drafters that have
        something to propose, the preferred ones first.
        """

    def takes(self, evidence: Evidence) -> bool:
        """Whether to draw a token that its drafter offers with this evidence, known before it is drawn."""

    def goes_on(self, draft: DraftToken) -> bool:
        """Whether to draft one more behind this one, which is in."""

    def learn(self, step: Step, hindsight: Sequence[tuple[Evidence, bool]]) -> None:
        """What became of the plan, and what drafters would have been right about at tokens they did not propose."""


MOST_ADAPTIVE: Final = 31
"""Tokens that are drafted at most where the number is to be what pays: the widest pass that is measured holds 32."""


def most_drafted(wanted: int | None, *, can_draft: bool, widest: int | None) -> int:
    """How many of the `wanted` tokens are drafted at most: none without a drafter, and no more than a pass may hold.

    `wanted` None: as many as pay; `widest` is the most tokens of a target pass, None: no limit.
    """
    if not can_draft:
        return 0
    most = MOST_ADAPTIVE if wanted is None else wanted
    return most if widest is None else min(most, widest - 1)


class FixedLookahead:
    """Always K tokens of the first drafter that has any."""

    def __init__(self, k: int) -> None:
        """Raises ValueError if k is negative."""
        if k < 0:
            raise ValueError(f"the lookahead must be 0 (plain) or more, not {k}")
        self._k = k

    def plan(self, depth: int, room: int, prospects: Mapping[Drafter, Prospect]) -> Plan:  # noqa: ARG002
        """K, or less where there is no room for K."""
        if self._k == 0:
            return Plan(0, None, "plain decoding")
        if not prospects:
            return Plan(0, None, "nothing to draft")
        drafter, prospect = next(iter(prospects.items()))
        n = min(self._k, room, prospect.most)
        if n == 0:
            return Plan(0, None, "close to a limit")
        return Plan(n, drafter, "fixed" if n == self._k else "close to a limit")

    def takes(self, evidence: Evidence) -> bool:  # noqa: ARG002
        """Always."""
        return True

    def goes_on(self, draft: DraftToken) -> bool:  # noqa: ARG002
        """Always."""
        return True

    def learn(self, step: Step, hindsight: Sequence[tuple[Evidence, bool]]) -> None:
        """Nothing."""
