"""The settings: a form over everything that may be set while the chat runs, and presets that fill it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import shorten
from typing import Any, ClassVar, Final, Protocol

from textual import events, on, work
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Select, Static

from specdesk.errors import SpecdeskError
from specdesk.tokenview import visible
from specdesk.tui.keys import HELP
from specdesk.tui.preferences.catalogue import DEFAULTS, Group, Values, shown_in
from specdesk.tui.preferences.presets import Preset, own_preset
from specdesk.tui.screens.ending import end
from specdesk.tui.screens.text_entry import TextEntry
from specdesk.tui.widgets.preset_bar import PresetBar
from specdesk.tui.widgets.setting_rows import GIVEN_MARK, WRONG, SettingRow

_SAVED_WIDTH: Final = 40


class Shelf(Protocol):
    """Where presets are. What changes it raises SpecdeskError where that holds for this run only."""

    @property
    def presets(self) -> Sequence[Preset]:
        """All there are."""

    def is_own(self, name: str) -> bool:
        """Whether it can be taken away."""

    def add_preset(self, preset: Preset) -> None:
        """Add one, in the place of one with its name."""

    def remove_preset(self, name: str) -> None:
        """Take one away."""


class _Form(VerticalScroll, can_focus=False):
    """Leaves the arrow keys to the screen, for which fields are what counts and not rows."""

    def action_scroll_up(self) -> None:
        """Not here."""
        raise SkipAction

    def action_scroll_down(self) -> None:
        """Not here."""
        raise SkipAction


class SettingsScreen(ModalScreen[Values | None]):
    """Asks for values. The result are those that were changed or filled in; None if the user leaves it."""

    AUTO_FOCUS = ""
    CSS_PATH = "settings.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "Save", id="settings.save", tooltip="Let these values hold, and keep them."),
        Binding("ctrl+r", "reset", "Defaults", id="settings.reset", tooltip="Fill in what specdesk comes with."),
        Binding("escape", "leave", "Leave", id="settings.leave", tooltip="Leave everything as it was."),
        HELP,
        Binding("down", "app.focus_next", id="settings.next", tooltip="Go to the next field.", show=False),
        Binding("up", "app.focus_previous", id="settings.previous", tooltip="Go to the field before.", show=False),
    ]

    def __init__(self, values: Values, outranked: Values, shelf: Shelf) -> None:
        """`outranked` is what is saved of the settings whose values come from the command line."""
        super().__init__()
        self._before = values
        self._outranked = outranked
        self._shelf = shelf
        self._filled: set[str] = set()
        self._rows: dict[str, SettingRow] = {}

    def compose(self) -> ComposeResult:
        """Presets, the form, one line about the chosen field, buttons."""
        with Vertical(id="dialog") as dialog:
            dialog.border_title = f"Settings · {GIVEN_MARK} from the command line" if self._outranked else "Settings"
            dialog.border_subtitle = "Ctrl+S saves · Esc leaves"
            yield PresetBar(*self._names)
            with _Form(id="form"):
                for group in Group:
                    if group is not Group.UNSHOWN:
                        yield from self._group(group)
            yield Static(id="told", markup=False)
            with Horizontal(id="buttons"):
                yield Button(
                    "Save",
                    variant="primary",
                    id="save",
                    compact=True,
                    tooltip="Let these values hold, and keep them. Ctrl+S, and Enter in a field, do it too.",
                )
                yield Button(
                    "Defaults",
                    id="reset",
                    compact=True,
                    tooltip="Fill in what specdesk comes with. Ctrl+R does it too.",
                )
                yield Button("Leave", id="leave", compact=True, tooltip="Leave everything as it was. Esc does it too.")

    def on_mount(self) -> None:
        """Begin with the first field."""
        self._rows["temperature"].enter()

    def _group(self, group: Group) -> ComposeResult:
        yield Static(group.value, classes="title", markup=False)
        for setting in shown_in(group):
            row = self._rows[setting.key] = SettingRow(
                setting, self._before[setting.key], given=setting.key in self._outranked
            )
            yield row

    # --- the form

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Say what buttons and presets are for."""
        if isinstance(event.widget, Button | Select) and isinstance(event.widget.tooltip, str):
            self._say(event.widget.tooltip)

    @on(SettingRow.Entered)
    def tell(self, message: SettingRow.Entered) -> None:
        """Say what is to be known about the field."""
        self._tell(message.row)

    @on(SettingRow.Edited)
    def judge(self, message: SettingRow.Edited) -> None:
        """Say what is wrong with it, if anything is."""
        self._tell(message.row)
        self.query_one(PresetBar).show(self._current)

    @on(Input.Submitted)
    def action_save(self) -> None:
        """Hand over what was changed, if all of it is allowed."""
        if not self._refused():
            changed = {key for key, row in self._rows.items() if row.value != self._before[key]}
            end(self, {key: self._rows[key].value for key in self._rows if key in changed | self._filled})

    def action_reset(self) -> None:
        """Fill in the defaults."""
        self._fill({key: DEFAULTS[key] for key in self._rows})

    def action_leave(self) -> None:
        """Change nothing."""
        end(self, None)

    @on(Button.Pressed)
    async def press(self, event: Button.Pressed) -> None:
        """What the keys do."""
        await self.run_action(str(event.button.id))

    def _fill(self, values: Values) -> None:
        for key, value in values.items():
            self._rows[key].fill(value)
        self._filled |= values.keys()
        self.query_one(PresetBar).show(self._current)
        self._say(f"filled in: {len(values)} values. Save keeps them.")

    def _refused(self) -> bool:
        """Whether something is wrong; then the user is led there."""
        wrong = next((row for row in self._rows.values() if row.problem), None)
        if wrong is not None:
            wrong.enter()
            self._tell(wrong)
        return wrong is not None

    def _tell(self, row: SettingRow) -> None:
        self._say(row.problem or f"{row.setting.help}{self._source(row)}", wrong=bool(row.problem))

    def _source(self, row: SettingRow) -> str:
        if not row.given:
            return ""
        saved = row.setting.kind.show(self._outranked[row.setting.key]) or "nothing"
        return f"\nGiven on the command line, for this run; saved is {shorten(saved, _SAVED_WIDTH, placeholder='…')}."

    def _say(self, text: str, *, wrong: bool = False) -> None:
        told = self.query_one("#told", Static)
        told.update(visible(f"{'! ' if wrong else ''}{text}"))
        told.set_class(wrong, WRONG)

    # --- presets

    @on(PresetBar.Chosen)
    def choose(self, message: PresetBar.Chosen) -> None:
        """Fill in a preset."""
        self._fill(next(preset.values for preset in self._shelf.presets if preset.name == message.name))

    @on(PresetBar.Adding)
    @work
    async def keep_as(self) -> None:
        """Ask for a name, and keep what stands in the fields."""
        if self._refused():
            return
        name = await self.app.push_screen_wait(TextEntry("Name of the preset"))
        if name is not None:
            try:
                preset = own_preset(name, self._now)
            except ValueError as error:
                self._say(str(error), wrong=True)
            else:
                self._change(lambda: self._shelf.add_preset(preset), f"kept as “{preset.name}”")

    @on(PresetBar.Removed)
    def take_away(self, message: PresetBar.Removed) -> None:
        """Take it away; its values stay in the fields."""
        self._change(lambda: self._shelf.remove_preset(message.name), f"deleted “{message.name}”")

    def _change(self, change: Callable[[], None], said: str) -> None:
        try:
            change()
        except SpecdeskError as error:
            self.notify(visible(f"{said}, for this run only: {error}"), severity="warning", markup=False)
        else:
            self.notify(visible(said), markup=False)
        self.query_one(PresetBar).know(*self._names)

    @property
    def _now(self) -> dict[str, Any]:
        return {**self._before, **{key: row.value for key, row in self._rows.items()}}

    @property
    def _current(self) -> str | None:
        """The preset whose values stand in the fields; of several the last, which is the user's own."""
        if any(row.problem for row in self._rows.values()):
            return None
        return next((preset.name for preset in reversed(self._shelf.presets) if preset.matches(self._now)), None)

    @property
    def _names(self) -> tuple[list[str], list[str], str | None]:
        names = [preset.name for preset in self._shelf.presets]
        return names, [name for name in names if self._shelf.is_own(name)], self._current
