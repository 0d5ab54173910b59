"""Drafting text that a constraint leaves no choice about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from specdesk.core.acceptance import Evidence
from specdesk.core.constraint import Constraint
from specdesk.core.drafters.protocol import Drafter, Draw, Prospect
from specdesk.core.law import Law
from specdesk.core.verify import DraftToken
from specdesk.core.warp import Distribution, certain

_SURE: Final = Evidence("grammar", 0, 0.95)
"""The text is forced; how it is cut into tokens is the target's choice."""


class ForcedDrafter:
    """Proposes the tokens of forced text, certain of each; behind them, and where there is a choice, asks another.

    Who proposes a token depends on the text before it alone. The tokens are verified like any others.
    """

    def __init__(self, constraint: Constraint, otherwise: Drafter | None) -> None:
        self._constraint = constraint
        self._otherwise = otherwise
        self._answer_start = 0
        self._forced: list[int] = []
        self._proposed: list[str] = []

    @property
    def name(self) -> str:
        """Who proposed in the last step."""
        return " and ".join(self._proposed)

    def begin(self, committed: Sequence[int], law: Law) -> None:
        """Let the other one begin."""
        self._answer_start = law.answer_start
        if self._otherwise is not None:
            self._otherwise.begin(committed, law)

    def prospect(self, committed: Sequence[int]) -> Prospect | None:
        """Forced tokens, then what the other drafter has to propose behind them."""
        self._forced = self._constraint.forced(committed[self._answer_start :])
        sure = (_SURE,) * len(self._forced)
        behind = None if self._otherwise is None else self._otherwise.prospect([*committed, *self._forced])
        if behind is not None:
            return replace(behind, most=len(sure) + behind.most, known=(*sure, *behind.known))
        return Prospect(len(sure), _SURE, sure) if sure else None

    def propose(self, committed: Sequence[int], draw: Draw) -> Iterator[DraftToken]:
        """Forced tokens, then those of the other drafter."""
        self._proposed = []
        forced = self._forced
        for index, token in enumerate(forced):
            self._note("grammar")
            q = certain(token)
            drawn = draw(q, index, _SURE)
            if drawn is None:
                return
            yield DraftToken(drawn, q, _SURE)

        def draw_behind(q: Distribution, index: int, evidence: Evidence) -> int | None:
            return draw(q, len(forced) + index, evidence)

        if self._otherwise is not None:
            for draft in self._otherwise.propose([*committed, *forced], draw_behind):
                self._note(self._otherwise.name)
                yield draft

    def hindsight(self, committed: Sequence[int]) -> Sequence[tuple[Evidence, bool]]:
        """What the other one has to say."""
        return () if self._otherwise is None else self._otherwise.hindsight(committed)

    def settle(self, length: int) -> None:
        """Let the other one settle."""
        if self._otherwise is not None:
            self._otherwise.settle(length)

    def _note(self, name: str) -> None:
        if name not in self._proposed:
            self._proposed.append(name)
