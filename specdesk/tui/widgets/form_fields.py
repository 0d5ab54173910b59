"""Fields of a form that leave the arrow keys to it wherever they have no use for them themselves."""

from __future__ import annotations

from typing import ClassVar

from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.widgets import Select, TextArea


class ClosedList(Select[str], inherit_bindings=False):
    """Shows what was chosen until it is opened, which Textual's is by arrow keys, too."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,space", "show_overlay", id="settings.open", tooltip="Open a list of words.", show=False),
    ]


class Lines(TextArea):
    """Text of several lines; from the first row Up leaves it, from the last one Down."""

    def action_cursor_up(self, select: bool = False) -> None:
        """Go up, if there is a row above."""
        if not select and self.navigator.is_first_wrapped_line(self.cursor_location):
            raise SkipAction
        super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        """Go down, if there is a row below."""
        if not select and self.navigator.is_last_wrapped_line(self.cursor_location):
            raise SkipAction
        super().action_cursor_down(select)
