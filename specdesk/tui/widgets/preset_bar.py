"""The presets there are, to choose from, add to and take from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Button, Select, Static

from specdesk.tokenview import visible
from specdesk.tui.widgets.form_fields import ClosedList
from specdesk.tui.widgets.setting_rows import CHOSEN


class PresetBar(Vertical):
    """Shows names, and asks its owner for all else."""

    @dataclass
    class _ToOwner(Message):
        bar: PresetBar

        @property
        def control(self) -> PresetBar:
            """The bar."""
            return self.bar

    @dataclass
    class Chosen(_ToOwner):
        """The user wants the values of a preset."""

        name: str

    @dataclass
    class Adding(_ToOwner):
        """The user wants to keep what stands in the fields."""

    @dataclass
    class Removed(_ToOwner):
        """The user wants a preset gone."""

        name: str

    def __init__(self, names: Sequence[str], own: Sequence[str], current: str | None) -> None:
        """`own` are those that can be taken away, `current` the one whose values stand in the fields."""
        super().__init__()
        self._names, self._own, self._current = names, own, current

    def compose(self) -> ComposeResult:
        """A list that opens, and two buttons."""
        with Horizontal(classes="line"):
            yield Static("Preset", classes="label", markup=False)
            yield ClosedList(
                self._options(), prompt="none of these", compact=True, tooltip="Values that go together, to fill in."
            )
        with Horizontal(classes="line"):
            yield Static("", classes="label", markup=False)
            yield Button("Keep as …", id="keep_as", compact=True, tooltip="Keep what stands in the fields as a preset.")
            yield Button("Delete", id="delete", compact=True, tooltip="Delete this preset of yours.")

    def on_mount(self) -> None:
        """Show the current one."""
        self.show(self._current)

    def on_descendant_focus(self) -> None:
        """The user is here."""
        self.add_class(CHOSEN)

    def on_descendant_blur(self) -> None:
        """The user has left."""
        self.remove_class(CHOSEN)

    def know(self, names: Sequence[str], own: Sequence[str], current: str | None) -> None:
        """There are others now."""
        self._names, self._own = names, own
        with self.prevent(Select.Changed):
            self._select.set_options(self._options())
        self.show(current)

    def show(self, name: str | None) -> None:
        """Show which one's values stand in the fields; None: they are of no preset."""
        self._current = name
        with self.prevent(Select.Changed):
            self._select.value = Select.NULL if name is None else name
        self.query_one("#delete").display = name in self._own

    @on(Select.Changed)
    def _choose(self, event: Select.Changed) -> None:
        event.stop()
        name = self._select.selection
        if name is not None and name != self._current:
            self.post_message(self.Chosen(self, name))

    @on(Button.Pressed)
    def _press(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "keep_as":
            self.post_message(self.Adding(self))
        elif self._current is not None:
            self.post_message(self.Removed(self, self._current))

    @property
    def _select(self) -> Select[str]:
        return self.query_one(Select)

    def _options(self) -> list[tuple[Text, str]]:
        # Strings would be read as markup.
        return [(Text(visible(name)), name) for name in self._names]
