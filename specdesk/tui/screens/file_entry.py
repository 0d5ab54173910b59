"""Asks for a file, and has something done with it while the user can still name another one."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from specdesk.errors import SpecdeskError
from specdesk.tokenview import visible
from specdesk.tui.file_names import with_tilde
from specdesk.tui.keys import HELP
from specdesk.tui.screens.ending import end

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

        The ending of `name` is that of names that have none. `explain` tells what a file of a name would be.
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
            yield Input(self._offered)
            yield Static(self._meaning(self._offered), id="meaning", markup=False, classes="hint")
            yield Static(self._place(self._offered), id="place", markup=False, classes="hint")
            yield Static(id="said", markup=False)
            yield Static("Enter does it · Esc leaves it", markup=False, classes="hint")

    @on(Input.Changed)
    def explain(self, event: Input.Changed) -> None:
        """Tell what that would be, and where."""
        self._refused = None
        self._say("")
        self.query_one("#place", Static).update(self._place(event.value))
        self.query_one("#meaning", Static).update(self._meaning(event.value))

    @on(Input.Submitted)
    async def do(self, event: Input.Submitted) -> None:
        """Do it, or say why not."""
        path = self._path(event.value)
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
            end(self, done)
        finally:
            self._busy = False

    def action_leave(self) -> None:
        """Nothing, unless it is being done."""
        if not self._busy:
            end(self, None)

    def _meaning(self, name: str) -> str:
        path = self._path(name)
        return "" if path is None else visible(self._explain(path))

    def _place(self, name: str) -> str:
        """Where it would lie, and under which name if that is not what was typed."""
        path = self._path(name)
        try:
            folder = with_tilde(Path(os.path.abspath(path or "x")).parent)  # noqa: PTH100 — links stay as they are typed
        except OSError:
            folder = "a folder that is gone"
        added = path is not None and path != _path(name)
        return visible(f"in {folder} as {path.name}" if path is not None and added else f"in {folder}")

    def _path(self, name: str) -> Path | None:
        """The file that is meant: one that is there, or the name with the ending that was offered if it has none."""
        path, ending = _path(name), Path(self._offered).suffix
        if path is None or not path.name or path.suffix or name.strip().endswith(os.sep) or _is_there(path):
            return path
        return path.with_name(f"{path.name}{ending}")

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


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False  # whoever opens it will say
