"""What `specdesk bench` found: a table on standard output, and files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from specdesk.bench.record import Findings
from specdesk.bench.report import Summary, cells, geometric_mean, summaries
from specdesk.bench.rows import Row
from specdesk.cli.console import report_console
from specdesk.errors import StorageError, UsageError


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
                if file.read(4) == b"GGUF":
                    raise UsageError(f"{path} is a model file; the report will not overwrite it")
            if is_new:  # what is measured may never come to be written
                path.unlink()
        except OSError as error:
            raise _refused(path, error) from error


def publish(findings: Findings, rows: Sequence[Row], as_json: Path | None, html: Path | None) -> None:
    """Write the files that are wanted and print the table. Raises StorageError if the disk refuses."""
    if as_json is not None:
        write(as_json, json.dumps(findings.record(rows), allow_nan=False) + "\n")
    if html is not None:
        write(html, findings.page(rows))
    console = report_console()
    found = summaries(rows)
    console.print(table(found))
    mean = geometric_mean(found)
    if mean is not None:
        console.print(f"\n{mean:.2f}x, the geometric mean over {len(found)} task{'' if len(found) == 1 else 's'}")


def table(found: Sequence[Summary]) -> Table:
    """The figures for people."""
    shown = Table(box=None, pad_edge=False, header_style="bold")
    shown.add_column("task", no_wrap=True)
    for heading in ("speedup", "from .. to", "plain tok/s", "tok/pass", "accepted", "K"):
        shown.add_column(heading, justify="right", no_wrap=True)
    shown.add_column("draft/target/rest", justify="right", no_wrap=True)
    for heading in ("/best fixed", "/oracle"):
        shown.add_column(heading, justify="right", no_wrap=True)
    for each in found:
        # As Text: what a file calls its tasks is no markup.
        shown.add_row(*map(Text, cells(each)))
    return shown


def write(path: Path, text: str) -> None:
    """Write a report. Raises StorageError if the disk refuses."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise _refused(path, error) from error


def _refused(path: Path, error: OSError) -> StorageError:
    return StorageError(f"cannot write {path}: {error.strerror}")
