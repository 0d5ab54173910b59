"""Drafting text that a constraint leaves no choice about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from specdesk.core.constraint import Constraint
from specdesk.core.drafters.protocol import Drafter, Draw
from specdesk.core.verify import DraftToken
from specdesk.core.warp import Distribution, certain

_NO_LIMIT = 2**31


class ForcedDrafter:
    """Proposes the tokens of forced text, certain of each; behind them, and where there is a choice, asks another.

    Who proposes a token depends on the text before it alone. The tokens are verified like any others: the text is
    forced, how it is cut into tokens is the target's choice.
    """

    def __init__(self, constraint: Constraint, answer_start: int, otherwise: Drafter) -> None:
        """`answer_start` is where the answer begins in the text."""
        self._constraint = constraint
        self._answer_start = answer_start
        self._otherwise = otherwise
        self._proposed: list[str] = []

    @property
    def name(self) -> str:
        """Who proposed in the last step."""
        return " and ".join(self._proposed)

    def begin(self, committed: Sequence[int]) -> None:
        """Let the other one begin."""
        self._otherwise.begin(committed)

    def room(self, n_committed: int) -> int:  # noqa: ARG002 — forced text needs no cache
        """No limit; the other one keeps to its own."""
        return _NO_LIMIT

    def propose(self, committed: Sequence[int], draw: Draw) -> Iterator[DraftToken]:
        """Forced tokens, then those of the other drafter."""
        self._proposed = []
        forced = self._constraint.forced(committed[self._answer_start :])
        for index, token in enumerate(forced):
            self._note("grammar")
            q = certain(token)
            yield DraftToken(draw(q, index), q)

        def draw_behind(q: Distribution, index: int) -> int:
            return draw(q, len(forced) + index)

        for draft in self._otherwise.propose([*committed, *forced], draw_behind):
            self._note(self._otherwise.name)
            yield draft

    def settle(self, length: int) -> None:
        """Let the other one settle."""
        self._otherwise.settle(length)

    def _note(self, name: str) -> None:
        if name not in self._proposed:
            self._proposed.append(name)
