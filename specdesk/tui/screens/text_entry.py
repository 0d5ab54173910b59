"""A question that a line of text answers."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from specdesk.tui.keys import HELP
from specdesk.tui.screens.ending import end


class TextEntry(ModalScreen[str | None]):
    """Asks for a line; None if the user leaves it."""

    CSS_PATH = "text_entry.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave", id="entry.leave", tooltip="Change nothing."),
        HELP,
    ]

    def __init__(self, question: str, text: str = "") -> None:
        super().__init__()
        self._question = question
        self._text = text

    def compose(self) -> ComposeResult:
        """The question and a field."""
        with Vertical():
            yield Static(self._question, markup=False)
            yield Input(self._text)
            yield Static("Enter keeps it · Esc leaves it", markup=False, classes="hint")

    @on(Input.Submitted)
    def answer(self, event: Input.Submitted) -> None:
        """That is it."""
        end(self, event.value)

    def action_leave(self) -> None:
        """No answer."""
        end(self, None)
