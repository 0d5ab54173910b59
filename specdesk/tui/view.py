"""As what an answer is shown."""

from __future__ import annotations

from enum import Enum, auto


class View(Enum):
    """How answers are shown."""

    LIVE = auto()
    """As tokens while they are written, as Markdown afterwards."""
    TOKENS = auto()
    MARKDOWN = auto()

    def shows_tokens(self, *, ended: bool) -> bool:
        """Whether an answer that has ended, or not, is shown as tokens."""
        return self is View.TOKENS or (self is View.LIVE and not ended)
