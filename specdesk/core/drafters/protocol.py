"""What the loop needs from a drafter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from specdesk.core.acceptance import Evidence
from specdesk.core.law import Law
from specdesk.core.verify import DraftToken
from specdesk.core.warp import Distribution

Draw = Callable[[Distribution, int, Evidence], int | None]
"""Draws the i-th token (0-based) of a draft from its distribution, of which the evidence is known before it is drawn.

None: nothing was drawn, and nothing more is wanted. That may depend on the distribution, never on what would be drawn.
"""


@dataclass(frozen=True, slots=True)
class Prospect:
    """What a drafter offers at one place, said from the text alone, before anything is drawn."""

    most: int
    """Tokens it could propose at most; 1 or more."""
    start: Evidence
    """What is known of the first token before it is drawn."""
    known: tuple[Evidence, ...] = ()
    """What is known of the first tokens where the drafter need not draw to know them: each costs nothing."""
    n_unread: int = 0
    """Tokens its model would read before it can draw the first one; 0 for a drafter without a model."""


class Drafter(Protocol):
    """Proposes tokens together with the distributions they were really drawn from."""

    @property
    def name(self) -> str:
        """What displays and traces call it."""

    def begin(self, committed: Sequence[int], law: Law) -> None:
        """A new answer to `committed` starts, sampled by `law`. Must be cheap: perhaps nothing is drafted at all."""

    def prospect(self, committed: Sequence[int]) -> Prospect | None:
        """What could be proposed to follow `committed`; None: nothing."""

    def propose(self, committed: Sequence[int], draw: Draw) -> Iterator[DraftToken]:
        """Draft tokens to follow `committed` (n,), one at a time, as many as are taken and the prospect allows.

        `prospect` was asked about the same text just before.
        Under a constraint each is one that it allows behind those before it. None follows an end token.
        """

    def hindsight(self, committed: Sequence[int]) -> Sequence[tuple[Evidence, bool]]:
        """Of tokens of the answer written since it was last asked this: what it could have said, and if it was right.

        Only of those that it did not propose, and only if knowing it takes no draw. Asked once a step has settled; a
        drafter may read the text for it that it would else read for its next prospect.
        """

    def settle(self, length: int) -> None:
        """The step is over: nothing beyond the first `length` tokens of the text may be kept."""
