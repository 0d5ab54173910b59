"""What the loop needs from a drafter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from specdesk.core.verify import DraftToken
from specdesk.core.warp import Distribution

Draw = Callable[[Distribution, int], int]
"""Draws the i-th token (0-based) of a draft from its distribution."""


class Drafter(Protocol):
    """Proposes tokens together with the distributions they were really drawn from."""

    @property
    def name(self) -> str:
        """What displays and traces call it."""

    def begin(self, committed: Sequence[int]) -> None:
        """A new answer to `committed` starts. Must be cheap: it may be that nothing is drafted at all."""

    def room(self, n_committed: int) -> int:
        """How many tokens could be drafted behind a text of this length."""

    def propose(self, committed: Sequence[int], draw: Draw) -> Iterator[DraftToken]:
        """Draft tokens to follow `committed` (n,), one at a time, as many as are taken, `room` at most.

        Under a constraint each is one that it allows behind those before it. None follows an end token.
        """

    def settle(self, length: int) -> None:
        """The step is over: nothing beyond the first `length` tokens of the text may be kept."""
