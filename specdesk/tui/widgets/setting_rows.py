"""Lines of a form: a setting's name, and a field for its value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Select, Static, TextArea

from specdesk.tokenview import visible
from specdesk.tui.preferences.catalogue import Setting
from specdesk.tui.preferences.kinds import Text, Word
from specdesk.tui.widgets.form_fields import ClosedList, Lines

WRONG = "-wrong"
"""The class of a line whose value is not allowed."""
CHOSEN = "-chosen"
"""The class of a line that the user is in. Textual's :focus-within does not reach what else stands in the line."""

GIVEN_MARK = "*"
"""Stands behind the name of a setting whose value comes from the command line."""


class SettingRow(Horizontal):
    """A setting and its field. What is typed is checked at once."""

    @dataclass
    class Edited(Message):
        """Something else stands in the field."""

        row: SettingRow

        @property
        def control(self) -> SettingRow:
            """The line."""
            return self.row

    @dataclass
    class Entered(Message):
        """The user is in the field now."""

        row: SettingRow

        @property
        def control(self) -> SettingRow:
            """The line."""
            return self.row

    def __init__(self, setting: Setting, value: Any, *, given: bool = False) -> None:
        """`given`: the value comes from the command line. It does no longer once the user has changed it here."""
        super().__init__()
        self.setting = setting
        self.problem = ""
        """Why what stands in the field is not allowed; empty if it is."""
        self._value = value
        self._text = setting.kind.show(value)
        self.given = given
        """Whether the value comes from the command line."""
        self._label = Static(classes="label", markup=False)
        self._field = _field(setting, self._text)
        self._show_problem("")

    def compose(self) -> ComposeResult:
        """Name and field."""
        yield self._label
        yield self._field

    @property
    def value(self) -> Any:
        """The last one that was allowed."""
        return self._value

    @property
    def text(self) -> str:
        """What stands in the field."""
        match self._field:
            case Input() | Select() as field:
                return str(field.value)
            case TextArea() as field:
                return field.text
        raise AssertionError(self._field)

    def fill(self, value: Any) -> None:
        """Put another value in the field."""
        text = self.setting.kind.show(value)
        match self._field:
            case Input() | Select() as field:
                field.value = text
            case TextArea() as field:
                field.load_text(text)
        self.given = False
        self._take(text, value)

    def enter(self) -> None:
        """Let the user type."""
        self._field.focus()

    def on_descendant_focus(self) -> None:
        """Tell the owner."""
        self.add_class(CHOSEN)
        self.post_message(self.Entered(self))

    def on_descendant_blur(self) -> None:
        """The user has left."""
        self.remove_class(CHOSEN)

    @on(Input.Changed)
    @on(Select.Changed)
    @on(TextArea.Changed)
    def _check(self, event: Message) -> None:
        event.stop()
        text = self.text
        if text == self._text:
            return
        self.given = False
        try:
            self._take(text, self.setting.read(text))
        except ValueError as error:
            self._text = text
            self._show_problem(str(error))
        self.post_message(self.Edited(self))

    def _take(self, text: str, value: Any) -> None:
        self._text, self._value = text, value
        self._show_problem("")

    def _show_problem(self, problem: str) -> None:
        self.problem = problem
        self.set_class(bool(problem), WRONG)
        # A mark, since colour alone would not do.
        label = f"{'! ' if problem else ''}{self.setting.label}{f' {GIVEN_MARK}' if self.given else ''}"
        self._label.update(visible(label))


def _field(setting: Setting, text: str) -> Widget:
    match setting.kind:
        case Word(words):
            return ClosedList(((word, word) for word in words), value=text, allow_blank=False, compact=True)
        case Text():
            return Lines(text, tab_behavior="focus", highlight_cursor_line=False, compact=True)
        case _:
            return Input(text, compact=True)
