"""A file that is fetched: what it is, and how far."""

from __future__ import annotations

from rich.filesize import decimal
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import ProgressBar, Static

from specdesk.hub.download.tally import FileProgress
from specdesk.tokenview import visible
from specdesk.tui.models.offer import OfferedFile


class FetchRow(Vertical):
    """Name, size and licence above a bar, which is there once something of the file is."""

    def __init__(self, file: OfferedFile) -> None:
        super().__init__()
        self._file = file

    def compose(self) -> ComposeResult:
        """The texts and the bar."""
        file = self._file
        yield Static(f"{file.role:<7} {visible(file.name)}", markup=False, classes="name")
        yield Static(visible(f"{decimal(file.size_bytes)}, {file.licence}, from {file.repo}"), markup=False)
        yield ProgressBar(total=file.size_bytes, show_eta=False)
        yield Static(markup=False, classes="state")

    def on_mount(self) -> None:
        """What is here from before."""
        self.show(self._file.progress, under_way=False)

    def show(self, progress: FileProgress, *, under_way: bool) -> None:
        """How far it is."""
        bar = self.query_one(ProgressBar)
        bar.update(progress=progress.arrived_bytes)
        bar.display = under_way or 0 < progress.arrived_bytes < self._file.size_bytes
        words = self._state(progress, under_way=under_way)
        state = self.query_one(".state", Static)
        state.update(words)
        state.display = bool(words)

    def _state(self, progress: FileProgress, *, under_way: bool) -> str:
        if progress.checked:
            return "here, checked"
        arrived = f"{decimal(progress.arrived_bytes)} of {decimal(self._file.size_bytes)}"
        if progress.arrived_bytes == self._file.size_bytes:
            return f"{arrived}, checking"
        if under_way:
            return arrived
        return f"{arrived} here from before" if progress.arrived_bytes else ""
