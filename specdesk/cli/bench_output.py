"""What `specdesk bench` found: a table on standard output, and files."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from specdesk.bench.record import Findings
from specdesk.bench.report import geometric_mean, summaries, table
from specdesk.bench.rows import Row
from specdesk.errors import StorageError, UsageError

_WIDTH = 120
"""Columns where standard output is no terminal."""


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
        try:
            with path.open("ab+") as file:
                file.seek(0)
                if file.read(4) == b"GGUF":
                    raise UsageError(f"{path} is a model file; the report will not overwrite it")
        except OSError as error:
            raise _refused(path, error) from error


def publish(findings: Findings, rows: Sequence[Row], as_json: Path | None, html: Path | None) -> None:
    """Write the files that are wanted and print the table. Raises StorageError if the disk refuses."""
    if as_json is not None:
        _write(as_json, json.dumps(findings.record(rows), allow_nan=False) + "\n")
    if html is not None:
        _write(html, findings.page(rows))
    console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = _WIDTH
    found = summaries(rows)
    console.print(table(found))
    mean = geometric_mean(found)
    if mean is not None:
        console.print(f"\n{mean:.2f}x, the geometric mean over {len(found)} task{'' if len(found) == 1 else 's'}")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise _refused(path, error) from error


def _refused(path: Path, error: OSError) -> StorageError:
    return StorageError(f"cannot write {path}: {error.strerror}")
