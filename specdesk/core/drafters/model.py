"""Drafting with a smaller language model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from specdesk.core.constraint import DeadEnd
from specdesk.core.drafters.protocol import Draw
from specdesk.core.law import Law
from specdesk.core.lm import LanguageModel, rewind
from specdesk.core.verify import DraftToken


class ModelDrafter:
    """Draws draft tokens from a draft model, by the law the target is sampled by.

    The model's cache is brought up to the text lazily, when tokens are asked for, so a draft that is not used costs
    nothing, its prompt included.
    """

    name = "model"

    def __init__(self, lm: LanguageModel, law: Law) -> None:
        self._lm = lm
        self._law = law

    def begin(self, committed: Sequence[int]) -> None:
        """Keep of the cache what a new answer to `committed` can use. Feeds nothing."""
        rewind(self._lm, committed[:-1])

    def room(self, n_committed: int) -> int:
        """How many tokens could be drafted behind a text of this length."""
        return max(0, self._lm.n_ctx - n_committed + 1)

    def propose(self, committed: Sequence[int], draw: Draw) -> Iterator[DraftToken]:
        """Draft tokens to follow `committed`, one at a time, as many as are taken and `room` allows.

        Fewer before a dead end of the constraint.
        """
        feed = list(committed[len(self._lm.ids) :])
        text = list(committed) if self._law.reads_text else []
        for index in range(self.room(len(committed))):
            row = self._lm.extend(feed, 1)[0]
            try:
                q = self._law.at(row, text)
            except DeadEnd:  # of this draft, which may not stand; nothing has been drawn here
                return
            draft = DraftToken(draw(q, index), q)
            yield draft
            feed = [draft.token]
            text.append(draft.token)

    def settle(self, length: int) -> None:
        """Forget what was drafted: cut the cache back to at most the first `length` tokens of the text."""
        if len(self._lm.ids) > length:
            self._lm.truncate(length)
