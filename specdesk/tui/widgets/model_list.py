"""A list of models in columns, as far as there is room for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.text import Text
from textual import events
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from specdesk.hub.here.fit import Fit
from specdesk.tokenview import visible
from specdesk.tui.models.entries import Entry, Section

_ROOMY: Final = 64
"""Columns from which on every column is shown."""
_TO_FETCH: Final = " to fetch"
_SHORT: Final = {Fit.FITS: "fits", Fit.TIGHT: "tight", Fit.NOT: "too big"}
_STYLES: Final = {Fit.FITS: "green", Fit.TIGHT: "yellow", Fit.NOT: "red"}


class ModelList(OptionList, can_focus=False):
    """Shows sections of entries. What is pointed at stays so when others are shown, if it is among them."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._sections: Sequence[Section] = ()
        self._current: str | None = None
        self._free = ""

    def show(
        self, sections: Sequence[Section], *, at: str | None = None, current: str | None = None, free: str = ""
    ) -> None:
        """Show these, pointing at the entry of that key; `current` is marked, `free` stands above what fits into it."""
        self._sections = sections
        self._current = current
        self._free = free
        self._lay(at or self.pointed_key)

    @property
    def pointed_key(self) -> str | None:
        """The key of the entry that is pointed at."""
        return None if self.highlighted_option is None else self.highlighted_option.id

    @property
    def pointed(self) -> Entry | None:
        """The entry that is pointed at."""
        return self.entry(self.pointed_key)

    def entry(self, key: str | None) -> Entry | None:
        """The entry of that key."""
        entries = (entry for section in self._sections for entry in section.entries)
        return next((entry for entry in entries if entry.key == key), None)

    def scroll_to_highlight(self, top: bool = False) -> None:
        """The first entry comes with what stands above it."""
        super().scroll_to_highlight(top)
        if self.highlighted == 1:
            self.scroll_home(animate=False, immediate=True)

    def on_resize(self, _event: events.Resize) -> None:
        """Other columns."""
        self._lay(self.pointed_key)

    def _lay(self, at: str | None) -> None:
        width = self.scrollable_content_region.width
        options: list[Option] = []
        for section in self._sections:
            if options:
                options.append(Option("", disabled=True))
            options.append(Option(self._heading(section.title, width, columns=not options), disabled=True))
            options += [
                Option(line_of(entry, width, current=entry.key == self._current), entry.key)
                for entry in section.entries
            ]
        self.set_options(options)
        keys = [option.id for option in options]
        if at is not None and at in keys:  # what stands above entries has no key
            self.highlighted = keys.index(at)
        else:
            self.action_first()

    def _heading(self, title: str, width: int, *, columns: bool) -> Text:
        columns = columns and width >= _ROOMY
        text = _row(title, "on disk", "memory", self._free, width) if columns else Text(title, end="")
        text.stylize("bold", 0, len(title))
        return text


def line_of(entry: Entry, width: int, *, current: bool) -> Text:
    """Name, disk, memory and fit, cut to the width."""
    # A marker, since colour alone would not do.
    name = ("▸ " if current else "  ") + visible(entry.name).replace("\n", " ")
    if entry.why:
        name_width = max(1, min(cell_len(name) + 2, width // 2))
        text = Text(_cut(name, name_width - 1) + " " + _cut(visible(entry.why), width - name_width), end="")
        text.no_wrap = True
        text.stylize("dim")
        return text
    fits = "" if entry.fit is None else entry.fit if width >= _ROOMY else _SHORT[entry.fit]
    text = _row(name, visible(entry.disk), entry.memory, fits, width)
    if entry.fit is not None:
        text.stylize(_STYLES[entry.fit], text.plain.rindex(fits))
    return text


def _row(name: str, disk: str, memory: str, fits: str, width: int) -> Text:
    if width >= _ROOMY:
        columns, last = [(disk, 16), (memory, 9)], _cut(fits, 12)
    else:
        columns, last = [(disk.removesuffix(_TO_FETCH), 8)], _cut(fits, 7)
    right = "".join(f" {' ' * max(0, size - cell_len(words))}{words}" for words, size in columns) + f" {last}"
    return Text(_cut(name, max(1, width - cell_len(right))) + right, end="", no_wrap=True)


def _cut(text: str, cells: int) -> str:
    """As wide as that, with an ellipsis where something is left out."""
    if cell_len(text) <= cells:
        return set_cell_size(text, cells)
    return set_cell_size(text, max(0, cells - 1)) + "…"
