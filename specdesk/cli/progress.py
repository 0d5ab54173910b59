"""Shows a fetch in a shell: bars where standard error is a terminal, else a line every tenth; or JSON, or nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from rich.console import Console
from rich.filesize import decimal

from specdesk.cli.progress_plan import plan_lines
from specdesk.core.interrupted import Interrupted
from specdesk.hub.download.tally import FetchTally
from specdesk.hub.download.tally_words import going

if TYPE_CHECKING:
    from specdesk.cli.progress_bars import BarReporter
    from specdesk.hub.download.report import FetchPlan


class SilentReporter(FetchTally):
    """Counts and shows nothing. What the others are made of; use them in a `with`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Raises Interrupted, with what to do next, in the place of one that has nothing to tell."""
        self.close()
        if (
            kind is not None
            and issubclass(kind, KeyboardInterrupt | Interrupted)
            and (arrived := self.now.arrived_bytes)
        ):
            came = f"{decimal(arrived)} of {decimal(self.now.size_bytes)} had come"
            raise Interrupted(f"stopped; {came}, and the same command goes on from what is kept of them") from None

    def close(self) -> None:
        """Leaves what is shown standing as it is; what is printed from now on comes below it. May be called twice."""


class LineReporter(SilentReporter):
    """Plain lines, for logs and pipes: what comes, then every tenth of every file."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._stream = stream
        self._kept = ("", 0)

    def begin(self, plan: FetchPlan) -> None:
        """Says what is about to be fetched, under which licence, and where to."""
        super().begin(plan)
        for line in plan_lines(plan):
            self.notice(line)

    def keep(self, n_bytes: int) -> None:
        """Says that it goes on, once where another source goes on from the same byte."""
        super().keep(n_bytes)
        if self._kept != (self.now.file, n_bytes):
            self._kept = (self.now.file, n_bytes)
            self.notice(f"{self.now.file}  going on from {decimal(n_bytes)}")

    def advance(self, n_bytes: int) -> None:
        """Prints a line when another tenth is complete."""
        before = self._tenths()
        super().advance(n_bytes)
        if (tenths := self._tenths()) > before:
            now = self.now
            file = now.files[now.file]
            line = f"{now.file}  {tenths}0%  {going(now, file.arrived_bytes, file.size_bytes)}"
            if now.size_bytes > file.size_bytes:
                line += f"  (all: {going(now, now.arrived_bytes, now.size_bytes)})"
            self.notice(line)

    def finish(self, *, hashed: bool = True) -> None:
        """Says that the file has passed its check."""
        super().finish(hashed=hashed)
        self.notice(f"{self.now.file}  {'checked' if hashed else 'complete, its length checked'}")

    def notice(self, text: str) -> None:
        """One line."""
        print(text, file=self._stream, flush=True)

    def _tenths(self) -> int:
        file = self.now.files[self.now.file]
        return 10 * file.arrived_bytes // file.size_bytes


def shell_reporter(stream: TextIO | None = None) -> BarReporter | LineReporter:
    """The reporter that suits the stream, which is stderr unless given: bars on a terminal, else lines."""
    stream = stream or sys.stderr
    console = Console(file=stream)
    if not stream.isatty() or console.is_dumb_terminal:
        return LineReporter(stream)
    from specdesk.cli.progress_bars import BarReporter

    return BarReporter(console)
