"""What stands in the transcript beside answers: the user's turns, and what the program has to say."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.widgets import Static

from specdesk.errors import EngineDiedError, SpecdeskError
from specdesk.store.values import ChatMessage
from specdesk.tokenview import visible
from specdesk.tui.error_text import error_text
from specdesk.tui.widgets.turn import Act, Turn


class Notice(Static):
    """A line from the program."""

    def __init__(self, text: str) -> None:
        super().__init__(visible(text), markup=False)


class Failure(Static):
    """An error with its hint, and what native code said last where that ended by it."""

    def __init__(self, error: SpecdeskError) -> None:
        log = error.log if isinstance(error, EngineDiedError) else ()
        lines = [error_text(error), *(f"llama.cpp: {line}" for line in log)]
        super().__init__(visible("\n".join(lines)), markup=False)


class UserTurn(Turn):
    """What the user asked."""

    def __init__(self, text: str, message: ChatMessage | None = None) -> None:
        super().__init__("You", message)
        self._text = text

    def compose(self) -> ComposeResult:
        """Name and text."""
        yield self._heading
        yield Static(visible(self._text).replace("\t", "    "), markup=False, classes="text")

    @property
    def text(self) -> str:
        """What was asked."""
        return self._text

    def can(self, act: Act) -> bool:
        """It can be asked anew."""
        return act is Act.EDIT or super().can(act)
