"""Shows a fetch in a shell, all on stderr: bars where that is a terminal, else a line every tenth."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from rich.console import Console
from rich.filesize import decimal
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Column

if TYPE_CHECKING:
    from specdesk.hub.report import FetchPlan


class LineReporter:
    """Plain lines, for logs and pipes: what comes, then every tenth of every file."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._file = ""
        self._total_bytes = 0
        self._arrived_bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Nothing to put back."""

    def begin(self, plan: FetchPlan) -> None:
        """Says what is about to be fetched, under which licence, and where to."""
        for line in plan_lines(plan):
            self.notice(line)

    def start(self, file: str, total_bytes: int) -> None:
        """Starts counting from nothing."""
        self._file, self._total_bytes, self._arrived_bytes = file, total_bytes, 0

    def keep(self, n_bytes: int) -> None:
        """Says that it goes on."""
        self._arrived_bytes = n_bytes
        self.notice(f"{self._file}  going on from {decimal(n_bytes)}")

    def advance(self, n_bytes: int) -> None:
        """Prints a line when another tenth is complete."""
        before = self._tenths()
        self._arrived_bytes += n_bytes
        if self._tenths() > before:
            arrived, total = decimal(self._arrived_bytes), decimal(self._total_bytes)
            self.notice(f"{self._file}  {self._tenths()}0%  {arrived} of {total}")

    def finish(self) -> None:
        """Says that the file has passed its check."""
        self.notice(f"{self._file}  checked")

    def notice(self, text: str) -> None:
        """One line."""
        print(text, file=self._stream, flush=True)

    def _tenths(self) -> int:
        return 10 * self._arrived_bytes // self._total_bytes


class BarReporter:
    """A bar for each file: bytes, rate, time left. Use it in a `with`, which gives the terminal back."""

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            # On a narrow terminal only the bar gives way.
            TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
            BarColumn(),
            DownloadColumn(table_column=Column(no_wrap=True)),
            TransferSpeedColumn(table_column=Column(no_wrap=True)),
            TimeRemainingColumn(table_column=Column(no_wrap=True)),
            console=console,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._progress.stop()

    def begin(self, plan: FetchPlan) -> None:
        """Says what is about to be fetched, under which licence, and where to."""
        for line in plan_lines(plan):
            self.notice(line)
        self._progress.start()

    def start(self, file: str, total_bytes: int) -> None:
        """Starts a new bar; that of a try that failed goes away."""
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._task = self._progress.add_task(file, total=total_bytes)

    def keep(self, n_bytes: int) -> None:
        """Lets the bar begin there; what was here before says nothing of the rate."""
        if self._task is not None:
            self._progress.reset(self._task, completed=n_bytes)

    def advance(self, n_bytes: int) -> None:
        """Moves the bar."""
        if self._task is not None:
            self._progress.advance(self._task, n_bytes)

    def finish(self) -> None:
        """Leaves the full bar standing."""
        self._task = None

    def notice(self, text: str) -> None:
        """One line above the bars."""
        self._progress.console.print(text, markup=False, highlight=False, soft_wrap=True)


def shell_reporter(stream: TextIO | None = None) -> BarReporter | LineReporter:
    """The reporter that suits the stream, which is stderr unless given: bars on a terminal, else lines."""
    stream = stream or sys.stderr
    console = Console(file=stream)
    if stream.isatty() and not console.is_dumb_terminal:
        return BarReporter(console)
    return LineReporter(stream)


def plan_lines(plan: FetchPlan) -> list[str]:
    """What is said before the first byte: what, how much, under which licence, where to."""
    return [
        f"fetching {plan.name}: {decimal(plan.size_bytes)} ({', '.join(plan.files)})",
        f"licence: {', '.join(plan.licences)}",
        f"memory: about {decimal(plan.memory_bytes)} to run it",
        f"destination: {plan.destination}",
    ]
