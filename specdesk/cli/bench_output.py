"""What `specdesk bench` found: a table on standard output, and files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from specdesk.bench.record import Findings
from specdesk.bench.report import Summary, cells, geometric_mean, summaries
from specdesk.bench.rows import Row
from specdesk.cli.console import report_console
from specdesk.errors import StorageError, UsageError
from specdesk.hub.gguf.magic import MAGIC

_SHORT_HEADINGS: Final = (
    "task", "speedup", "from .. to", "plain tok/s", "tok/pass", "accepted", "K",
    "draft/target/rest", "/best fixed", "/oracle",
)  # fmt: skip
_N_UPPER: Final = 7
"""Columns of the first of two tables; the task begins both."""
_ANY_WIDTH: Final = 10_000
"""Wider than any table: what it takes is measured in it."""


def check_writable(as_json: Path | None, html: Path | None, *kept: Path | None) -> None:
    """Find out before minutes of measuring whether the reports can be written.

    Raises: StorageError for a file that cannot be written; UsageError for a model file, for one that is to be `kept`,
    and where both reports would go to the same file.
    """
    wanted = [path for path in (as_json, html) if path is not None]
    places = [path.resolve() for path in (*wanted, *kept) if path is not None]
    for path in wanted:
        if places.count(path.resolve()) > 1:
            raise UsageError(f"{path} is asked for twice", "give each report a file of its own")
        is_new = not path.exists()
        try:
            with path.open("ab+") as file:
                file.seek(0)
                if file.read(len(MAGIC)) == MAGIC:
                    raise UsageError(f"{path} is a model file; the report will not overwrite it")
            if is_new:  # what is measured may never come to be written
                path.resolve().unlink()  # what a link points to was made, and not the link
        except OSError as error:
            raise _refused(path, error) from error


def publish(findings: Findings, rows: Sequence[Row], as_json: Path | None, html: Path | None) -> None:
    """Write the files that are wanted, and print the table.

    Raises StorageError if the disk refuses a file, naming all of those, when all else is done: what was measured may
    have taken hours.
    """
    reports: list[tuple[Path, str]] = []
    if as_json is not None:
        reports.append((as_json, json.dumps(findings.record(rows), allow_nan=False) + "\n"))
    if html is not None:
        reports.append((html, findings.page(rows)))
    refused: list[StorageError] = []
    for path, text in reports:
        try:
            write(path, text)
        except StorageError as error:
            refused.append(error)
    console = report_console()
    found = summaries(rows)
    print_table(console, found)
    mean = geometric_mean(found)
    if mean is not None:
        console.print(f"\n{mean:.2f}x, the geometric mean over {len(found)} task{'' if len(found) == 1 else 's'}")
    if refused:
        raise StorageError("; ".join(error.message for error in refused))


def print_table(console: Console, found: Sequence[Summary]) -> None:
    """The figures for people: in two tables, and over the edge rather than cut off, where the terminal is narrow."""
    parts = [table(found)]
    if console.is_terminal and console.width < _width(parts[0]):
        parts = [table(found, range(_N_UPPER)), table(found, (0, *range(_N_UPPER, len(_SHORT_HEADINGS))))]
    width, console.width = console.width, max(console.width, *(_width(part) for part in parts))
    for number, part in enumerate(parts):
        if number:
            console.print()
        console.print(part)
    console.width = width


def table(found: Sequence[Summary], columns: Sequence[int] = range(len(_SHORT_HEADINGS))) -> Table:
    """All columns of the figures, or some."""
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        shown.add_column(_SHORT_HEADINGS[column], justify="right" if column else "left", no_wrap=True)
    for each in found:
        # As Text: what a file calls its tasks is no markup.
        shown.add_row(*(Text(cells(each)[column]) for column in columns))
    return shown


def write(path: Path, text: str) -> None:
    """Write a report. Raises StorageError if the disk refuses."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise _refused(path, error) from error


def _width(shown: Table) -> int:
    """What it takes to cut nothing off."""
    return Console(width=_ANY_WIDTH).measure(shown).maximum


def _refused(path: Path, error: OSError) -> StorageError:
    return StorageError(f"cannot write {path}: {error.strerror or error}")
