"""Tables and sentences on standard output: whole lines where it is piped; on a terminal they fit its width, and fold
where words, or folders of a path, end."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Sequence
from typing import Final

from rich.cells import cell_len, chop_cells

from specdesk.cli.console import print_text
from specdesk.tokenview import visible

_GAP: Final = 2
"""Columns of space between those of a table."""
_ENDS: Final = re.compile(r"(?<=[ /])(?!(?:[kMGT]?B|bytes)\b)")
"""Where a text may be folded; a number stays with its unit."""
_LEAST_WIDTH: Final = 20
_INDENT: Final = "  "


def terminal_width() -> int | None:
    """Columns of standard output; None where it is no terminal, and lines may have any length."""
    if not sys.stdout.isatty():
        return None
    return max(_LEAST_WIDTH, shutil.get_terminal_size().columns)


def print_line(line: str, *, hang: int = 0) -> None:
    """A sentence; on a terminal its further lines begin at column `hang`."""
    width = terminal_width()
    if width is None:
        print_text(f"{line}\n")
        return
    first, *others = fold(visible(line), width, width - hang)
    sys.stdout.write("\n".join([first, *(" " * hang + other for other in others)]) + "\n")


def print_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, spare: Sequence[str] = (), indent: str = _INDENT
) -> None:
    """Nothing where there are no rows; without the line on top where `header` has only empty names.

    Where folding is not enough for a terminal, columns of `spare` are left out, the first ones first, which is said.
    """
    width = terminal_width()
    clean = [[visible(cell.replace("\n", " ").replace("\t", " ")) for cell in row] for row in rows]
    if not clean:
        return
    shown = list(range(len(header)))
    left_out = []
    if width is not None:
        for name in spare:
            if _total([_least(header, clean, column) for column in shown]) + len(indent) <= width:
                break
            shown.remove(header.index(name))
            left_out.append(name)
    lines = [[row[column] for column in shown] for row in ([list(header), *clean] if any(header) else clean)]
    widths = _widths(lines, None if width is None else width - len(indent))
    for line in lines:
        cells = [fold(cell, most, most) for cell, most in zip(line, widths, strict=True)]
        for number in range(max(map(len, cells))):
            parts = [cell[number] if number < len(cell) else "" for cell in cells]
            padded = (part + " " * (most - cell_len(part)) for part, most in zip(parts, widths, strict=True))
            sys.stdout.write(indent + (" " * _GAP).join(padded).rstrip() + "\n")
    if left_out:
        print_line(f"{indent}(too narrow for {', '.join(left_out)}: --json has all)", hang=len(indent))


def fold(text: str, first: int, others: int) -> list[str]:
    """The text in lines of so many columns at most; inside a word only where it alone is longer."""
    lines, line, most = [], "", first
    for word in _ENDS.split(text):
        if line and cell_len((line + word).rstrip()) > most:
            lines.append(line.rstrip())
            line, most = "", others
        line += word
        while cell_len(line.rstrip()) > most:
            start = chop_cells(line, most)[0]
            lines.append(start)
            line, most = line[len(start) :], others
    return [*lines, line.rstrip()]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _least(header: Sequence[str], rows: Sequence[Sequence[str]], column: int) -> int:
    """What the longest word of a column takes."""
    return max(cell_len(word.rstrip()) for row in (header, *rows) for word in _ENDS.split(row[column]))


def _widths(lines: Sequence[Sequence[str]], most: int | None) -> list[int]:
    """What each column takes: as much as it wants, or the widest less until all fit, if they can."""
    columns = range(len(lines[0]))
    widths = [max(cell_len(line[column]) for line in lines) for column in columns]
    if most is None:
        return widths
    least = [min(wanted, _least(lines[0], lines, column)) for column, wanted in enumerate(widths)]
    while _total(widths) > most:
        column = max(columns, key=lambda column: (widths[column] > least[column], widths[column]))
        if widths[column] <= 1:
            break
        widths[column] -= 1
    return widths
