"""Drafters that are no model: certain of tokens that are a function of the text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from specdesk.core.drafters.protocol import Draw
from specdesk.core.law import Law
from specdesk.core.verify import DraftToken
from specdesk.core.warp import certain

MANY = 10


class OneHot:
    """Proposes up to `most` tokens, each chosen by the text before it.

    What the constraint forbids it does not propose; it would be refused with certainty.
    """

    name = "lookup"

    def __init__(self, law: Law, choose: Callable[[Sequence[int]], int], most: int = MANY) -> None:
        self._law = law
        self._choose = choose
        self._most = most

    def begin(self, committed: Sequence[int]) -> None: ...

    def room(self, n_committed: int) -> int:
        return self._most

    def propose(self, committed: Sequence[int], draw: Draw) -> Iterator[DraftToken]:
        text = list(committed)
        constraint = self._law.constraint
        for index in range(self._most):
            q = certain(self._choose(text))
            if constraint is not None and not constraint.allowed(text[self._law.answer_start :], q.ids)[0]:
                return
            text.append(draw(q, index))
            yield DraftToken(text[-1], q)

    def settle(self, length: int) -> None: ...


def seen_before(text: Sequence[int]) -> int:
    """What followed the last token where it stood before; itself if it is new."""
    earlier = [at for at in range(len(text) - 1) if text[at] == text[-1]]
    return text[earlier[-1] + 1] if earlier else text[-1]
