"""How easy a text is, by how sure the target was of its last tokens: the draft model will be as sure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from specdesk.core.events import AnswerToken

EASIEST: Final = 7
"""The ease where the target has long been sure of every token; 0 is that of the hardest texts."""

_MOST: Final = EASIEST + 1.0
"""Lead beyond which a token counts as no surer: one that is ahead by 20 says nothing about the next."""
_FIRST: Final = 2.4
"""Mean lead before any token is written: rather a hard text, so that a draft that pays in easy ones alone waits for a
token or two. Between 1.9 and 2.9 it makes no difference."""
_WEIGHT: Final = 1 / 4
"""Of one token in the mean. With 1/2 and 1/8 the drafts of recorded answers were predicted almost as well."""


class Ease:
    """Of the text of one answer: a running mean of the target's leads, in whole steps from 0 to EASIEST."""

    def __init__(self) -> None:
        self._lead = _FIRST

    @property
    def level(self) -> int:
        """The ease."""
        return min(EASIEST, int(self._lead))

    def saw(self, tokens: Iterable[AnswerToken]) -> None:
        """These were written."""
        for token in tokens:
            if token.lead is not None:
                self._lead += _WEIGHT * (min(token.lead, _MOST) - self._lead)
