"""Shows a fetch on a terminal: a bar for each file, and one for all of them where there are several."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID
from rich.table import Column
from rich.text import Text

from specdesk.cli.progress import SilentReporter
from specdesk.cli.progress_columns import BytesColumn, NameColumn, PercentColumn
from specdesk.cli.progress_plan import plan_lines
from specdesk.hub.download.tally import FetchTally
from specdesk.hub.download.tally_words import pace

if TYPE_CHECKING:
    from specdesk.hub.download.report import FetchPlan


class BarReporter(SilentReporter):
    """Bytes, rate and time left of each file and of all. Use it in a `with`, which gives the terminal back."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._progress = Progress(
            NameColumn(console),
            BarColumn(),
            PercentColumn(),
            BytesColumn(),
            _PaceColumn(self),
            console=console,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task: TaskID | None = None
        self._all: TaskID | None = None

    def close(self) -> None:
        """Draws the bars for the last time."""
        self._progress.stop()

    def begin(self, plan: FetchPlan) -> None:
        """Says what is about to be fetched, under which licence, and where to."""
        super().begin(plan)
        for line in plan_lines(plan):
            self.notice(line)
        if len(plan.files) > 1:
            self._all = self._progress.add_task("all", total=plan.size_bytes)
        self._progress.start()

    def start(self, file: str, total_bytes: int) -> None:
        """Starts a new bar; that of a try that failed goes away."""
        super().start(file, total_bytes)
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._task = self._progress.add_task(file, total=total_bytes)
        self._move(0)

    def keep(self, n_bytes: int) -> None:
        """Lets the bar begin there."""
        super().keep(n_bytes)
        self._move(n_bytes)

    def advance(self, n_bytes: int) -> None:
        """Moves the bar."""
        super().advance(n_bytes)
        self._move(n_bytes)

    def finish(self, *, hashed: bool = True) -> None:
        """Leaves the full bar standing."""
        super().finish(hashed=hashed)
        self._task = None

    def notice(self, text: str) -> None:
        """One line above the bars."""
        self._progress.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _move(self, n_bytes: int) -> None:
        if self._task is not None:
            self._progress.advance(self._task, n_bytes)
        if self._all is not None:
            self._progress.update(self._all, completed=self.now.arrived_bytes)


class _PaceColumn(ProgressColumn):
    """How fast, and how long still; drawn several times a second, so that a stall is seen while it lasts."""

    def __init__(self, tally: FetchTally) -> None:
        super().__init__(table_column=Column(no_wrap=True))
        self._tally = tally

    def render(self, task: Task) -> Text:
        missing = 0 if task.total is None else int(task.total - task.completed)
        return Text(pace(self._tally.now, missing))
