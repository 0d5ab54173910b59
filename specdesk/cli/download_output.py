"""What `specdesk download` prints: for people, for scripts, or hardly anything."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import typer

from specdesk.cli.console import say
from specdesk.cli.progress import SilentReporter, shell_reporter
from specdesk.cli.progress_json import JsonReporter


@dataclass(frozen=True, slots=True)
class Output:
    """Where progress goes, and what is said at the end."""

    report: SilentReporter
    quiet: bool

    @property
    def as_json(self) -> JsonReporter | None:
        """Where JSON is printed, if it is asked for."""
        return self.report if isinstance(self.report, JsonReporter) else None

    def end(self, files: Mapping[str, Path], run_it: str, also: str = "") -> None:
        """Where the files are, by what they are; and the line to type next; people are told what `also` can be done."""
        if self.as_json is not None:
            self.as_json.tell("done", files={role: str(path) for role, path in files.items()}, run=run_it)
            return
        self.report.close()
        width = max(map(len, files))
        for role, path in files.items():
            typer.echo(f"{role:{width}}  {path}")
        if not self.quiet:
            say(f"run it with: {run_it}{also}")


@contextmanager
def output(*, quiet: bool, as_json: bool) -> Iterator[Output]:
    """An output that gives the terminal back at its end."""
    with JsonReporter(sys.stdout) if as_json else SilentReporter() if quiet else shell_reporter() as report:
        yield Output(report, quiet)
