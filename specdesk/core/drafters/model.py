"""Drafting with a smaller language model."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Sequence
from typing import Final

from specdesk.core.acceptance import Evidence, start_of
from specdesk.core.candidates import Row, lead
from specdesk.core.constraint import DeadEnd
from specdesk.core.drafters.protocol import Draw, Prospect
from specdesk.core.law import Law
from specdesk.core.lm import LanguageModel, n_common
from specdesk.core.verify import DraftToken
from specdesk.core.warp import Distribution

_GREEDY: Final = "model, greedy"
"""The source of greedy evidence: what greedy drafts teach says little of drawn ones."""
_GAPS: Final = (0.1, 0.3, 0.6, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""Leads of the highest logit from which a token that was certain is taken to be surer."""
_GAP_GUESSES: Final = (0.35, 0.4, 0.45, 0.53, 0.6, 0.72, 0.84, 0.95, 0.98, 0.995)
_PEAKS: Final = (0.2, 0.35, 0.5, 0.65, 0.8, 0.9)
"""Highest probabilities from which a token that is to be drawn is taken to be surer."""
_PEAK_GUESSES: Final = (0.3, 0.38, 0.45, 0.55, 0.65, 0.75, 0.85)
_PROBS: Final = (0.03, 0.07, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95)
"""Probabilities from which a token that was drawn is taken to be surer."""
_PROB_GUESSES: Final = (0.2, 0.3, 0.38, 0.45, 0.53, 0.6, 0.65, 0.75, 0.85)


class ModelDrafter:
    """Draws draft tokens from a draft model, by the law the target is sampled by.

    The model's cache is brought up to the text lazily, when tokens are asked for, so a draft that is not used costs
    nothing, its prompt included. Where the text outgrows the model's context, it goes on with the latter half of it.
    """

    name = "model"

    def __init__(self, lm: LanguageModel) -> None:
        self._lm = lm
        self._law: Law | None = None
        self._source = self.name
        self._first = 0
        """Where in the text the cache begins."""

    @property
    def source(self) -> str:
        """What the evidence of this answer's tokens is filed under."""
        return self._source

    def begin(self, committed: Sequence[int], law: Law) -> None:
        """Keep of the cache what a new answer to `committed` can use. Feeds nothing."""
        self._law = law
        self._source = _GREEDY if law.sampling.applied_temperature == 0 else self.name
        n_kept = n_common(self._lm.ids, committed[self._first : -1])
        self.settle(self._first + n_kept)
        if n_kept == 0:
            self._first = 0

    def prospect(self, committed: Sequence[int]) -> Prospect | None:
        """As many tokens as the context has room for."""
        n = len(committed)
        first = self._window(n)
        n_unread = n - first - (len(self._lm.ids) if first == self._first else 0)
        return Prospect(self._lm.n_ctx - (n - first) + 1, start_of(self._source), n_unread=n_unread)

    def propose(self, committed: Sequence[int], draw: Draw) -> Iterator[DraftToken]:
        """Draft tokens to follow `committed`, one at a time. Fewer before a dead end of the constraint.

        Raises UnusableDraftError.
        """
        if self._law is None:
            raise ValueError("no answer has begun")
        if (first := self._window(len(committed))) != self._first:
            self._lm.truncate(0)
            self._first = first
        feed = list(committed[self._first + len(self._lm.ids) :])
        text = list(committed) if self._law.reads_text else []
        for index in range(self._lm.n_ctx - (len(committed) - self._first) + 1):
            row = self._lm.extend(feed, 1)[0]
            try:
                q = self._law.of_draft(row, text)
            except DeadEnd:  # of this draft, which may not stand; nothing has been drawn here
                return
            token = draw(q, index, offer_of(q, row, self._source))
            if token is None:
                return
            yield DraftToken(token, q, evidence_of(token, q, row, self._source))
            feed = [token]
            text.append(token)

    def hindsight(self, committed: Sequence[int]) -> Sequence[tuple[Evidence, bool]]:  # noqa: ARG002
        """Nothing: the model would have to read the text."""
        return ()

    def settle(self, length: int) -> None:
        """Forget what was drafted: cut the cache back to at most the first `length` tokens of the text."""
        kept = max(0, length - self._first)
        if len(self._lm.ids) > kept:
            self._lm.truncate(kept)

    def _window(self, n_committed: int) -> int:
        """Where the cache has to begin for a text of this length, with room for a draft."""
        return self._first if n_committed - self._first < self._lm.n_ctx else n_committed - max(1, self._lm.n_ctx // 2)


def offer_of(q: Distribution, row: Row, source: str) -> Evidence:
    """How sure the model is of whatever it will draw from `q`, whose logits are `row`.

    A draft that is certain of its token, as all greedy ones are, says more by its logits: by the lead of the highest.
    """
    if q.ids.size == 1:
        step = bisect(_GAPS, lead(row))
        return Evidence(source, step, _GAP_GUESSES[step])
    step = bisect(_PEAKS, float(q.probs.max()))
    return Evidence(source, len(_GAP_GUESSES) + step, _PEAK_GUESSES[step])


def evidence_of(token: int, q: Distribution, row: Row, source: str) -> Evidence:
    """How sure the model is of the token it drew."""
    if q.ids.size == 1:
        return offer_of(q, row, source)
    step = bisect(_PROBS, q.prob(token))
    return Evidence(source, len(_GAP_GUESSES) + len(_PEAK_GUESSES) + step, _PROB_GUESSES[step])
