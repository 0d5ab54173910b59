"""Asks for a file, and has something done with it while the user can still name another one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static
from textual.widgets.input import Selection

from specdesk.errors import SpecdeskError
from specdesk.tokenview import visible
from specdesk.tui.file_names import with_tilde
from specdesk.tui.keys import HELP

Done = TypeVar("Done")


class FileEntry(ModalScreen[Done | None]):
    """Returns what was done, or None if the user leaves it. What goes wrong is said below the name."""

    CSS_PATH = "file_entry.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave", id="file.leave", tooltip="Do nothing."),
        HELP,
    ]

    def __init__(
        self, question: str, name: str, do: Callable[[Path, bool], Done], explain: Callable[[Path], str]
    ) -> None:
        """`do` may take its time; it raises SpecdeskError, and FileExistsError unless its second argument is true.

        `explain` tells what a file of that name would be.
        """
        super().__init__()
        self._question = question
        self._offered = name
        self._do = do
        self._explain = explain
        self._refused: Path | None = None
        """The file that is there and may be overwritten if it is named once more."""
        self._busy = False

    def compose(self) -> ComposeResult:
        """The question, a field, what it means and what came of it."""
        with Vertical():
            yield Static(self._question, markup=False)
            yield Input(self._offered, select_on_focus=False)
            yield Static(self._meaning(self._offered), id="meaning", markup=False, classes="hint")
            yield Static(visible(f"in {_folder()}"), markup=False, classes="hint")
            yield Static(id="said", markup=False)
            yield Static("Enter does it · Esc leaves it", markup=False, classes="hint")

    def on_mount(self) -> None:
        """What is typed replaces the name and leaves its ending."""
        self.query_one(Input).selection = Selection(0, len(self._offered) - len(Path(self._offered).suffix))

    @on(Input.Changed)
    def explain(self, event: Input.Changed) -> None:
        """Tell what that would be."""
        self._refused = None
        self._say("")
        self.query_one("#meaning", Static).update(self._meaning(event.value))

    @on(Input.Submitted)
    async def do(self, event: Input.Submitted) -> None:
        """Do it, or say why not."""
        path = _path(event.value)
        if path is None or self._busy:
            return
        self._busy = True
        try:
            done = await asyncio.to_thread(self._do, path, path == self._refused)
        except FileExistsError:
            self._refused = path
            self._say(f"{path} is there already: Enter once more overwrites it")
        except SpecdeskError as error:
            self._say(f"error: {error}")
        else:
            self.dismiss(done)
        finally:
            self._busy = False

    def action_leave(self) -> None:
        """Nothing, unless it is being done."""
        if not self._busy:
            self.dismiss(None)

    def _meaning(self, name: str) -> str:
        path = _path(name)
        return "" if path is None else visible(self._explain(path))

    def _say(self, text: str) -> None:
        self.query_one("#said", Static).update(visible(text))


def _path(name: str) -> Path | None:
    """None for no name."""
    if not name.strip():
        return None
    path = Path(name.strip())
    try:
        return path.expanduser()
    except (RuntimeError, ValueError):  # nobody's home, or no name that anybody can have
        return path


def _folder() -> str:
    """Where names begin."""
    try:
        return with_tilde(Path.cwd())
    except OSError:
        return "a folder that is gone"
