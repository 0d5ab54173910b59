"""Drafters that are no model: certain of tokens that are a function of the text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from specdesk.core.acceptance import Evidence
from specdesk.core.drafters.protocol import Draw, Prospect
from specdesk.core.law import Law
from specdesk.core.verify import DraftToken
from specdesk.core.warp import certain

MANY = 10
SURE = Evidence("lookup", 0, 0.5)


class OneHot:
    """Proposes up to `most` tokens, each chosen by the text before it.

    What the constraint forbids it does not propose; it would be refused with certainty.
    """

    name = "lookup"

    def __init__(self, choose: Callable[[Sequence[int]], int], most: int = MANY) -> None:
        self._choose = choose
        self._most = most

    def begin(self, committed: Sequence[int], law: Law) -> None:
        self._law = law

    def prospect(self, committed: Sequence[int]) -> Prospect:
        return Prospect(self._most, SURE, (SURE,) * self._most)

    def propose(self, committed: Sequence[int], draw: Draw) -> Iterator[DraftToken]:
        text = list(committed)
        constraint = self._law.constraint
        for index in range(self._most):
            q = certain(self._choose(text))
            if constraint is not None and not constraint.allowed(text[self._law.answer_start :], q.ids)[0]:
                return
            drawn = draw(q, index, SURE)
            if drawn is None:
                return
            text.append(drawn)
            yield DraftToken(drawn, q, SURE)

    def hindsight(self, committed: Sequence[int]) -> Sequence[tuple[Evidence, bool]]:
        return ()

    def settle(self, length: int) -> None: ...


def seen_before(text: Sequence[int]) -> int:
    """What followed the last token where it stood before; itself if it is new."""
    earlier = [at for at in range(len(text) - 1) if text[at] == text[-1]]
    return text[earlier[-1] + 1] if earlier else text[-1]
