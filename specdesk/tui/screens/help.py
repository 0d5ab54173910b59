"""The help: every key by where it works, what the colours mean, where things are kept."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from specdesk.tokenview import EXPLANATIONS, legend, visible
from specdesk.tui.keys import Key, Section
from specdesk.tui.screens.ending import end
from specdesk.tui.terminal.appearance import has_styles

_WIDE: Final = 50
"""Columns from which keys of every length stand on one line."""
_KEYS_WIDTH: Final = {True: 19, False: 11}


class HelpScreen(ModalScreen[None]):
    """Shows what it is given; it is scrolled through and closed."""

    CSS_PATH = "help.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,Q,f1", "close", "Close", id="help.close", tooltip="Close the help."),
    ]

    def __init__(self, sections: Sequence[Section], files: Mapping[str, Path]) -> None:
        """`files` are the places where things are kept, by what is kept there."""
        super().__init__()
        self._sections = sections
        self._files = files

    def compose(self) -> ComposeResult:
        """One long page."""
        with VerticalScroll(id="page") as page:
            page.border_title = "Help"
            page.border_subtitle = "Esc closes · ↑ ↓ scroll"
            for section in self._sections:
                yield Static(section.place, classes="title", markup=False)
                yield Static(_Keys(section.keys), classes="keys", markup=False)
            yield Static("What the colours of tokens mean", classes="title", markup=False)
            yield from self._colours()
            yield Static("Files", classes="title", markup=False)
            yield Static(_files(self._files), markup=False)

    def _colours(self) -> ComposeResult:
        """Each kind of token as it looks in an answer, and what it is."""
        entries = legend(short=False, with_marks=not has_styles(os.environ))
        for (words, look), explanation in zip(entries, EXPLANATIONS.values(), strict=True):
            style = Style.parse(look)
            yield Static(Text(words, style.without_color if self.app.no_color else style), markup=False)
            yield Static(Padding(Text(explanation), (0, 0, 0, 2)), markup=False)

    def on_mount(self) -> None:
        """Ready to be scrolled."""
        self.query_one("#page").focus()

    def action_close(self) -> None:
        """Back to the screen that it was opened over."""
        end(self, None)


@dataclass(frozen=True, slots=True)
class _Keys:
    """Keys beside what they are for, in whatever width there is."""

    keys: Sequence[Key]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table.grid(padding=(0, 2, 0, 0), expand=True)
        table.add_column(width=_KEYS_WIDTH[options.max_width >= _WIDE], style="bold")
        table.add_column(ratio=1)
        for key in self.keys:
            table.add_row(Text(key.keys), Text(key.purpose))
        yield table


def _files(files: Mapping[str, Path]) -> Text:
    # Each path on lines of its own, so that it can be copied.
    return Text("\n").join(Text(f"{what}\n  {visible(str(path))}") for what, path in files.items())
