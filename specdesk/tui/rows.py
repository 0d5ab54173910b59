"""Text wrapped into rows while it grows at its end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from rich.cells import cell_len

from specdesk.tokenview import Span

_WORD = re.compile(r"\s*\S+\s*|\s+")


class Rows:
    """Spans wrapped to a width in cells, between words where that is possible.

    Adding text changes the last row and appends others; the rows before it are final, so the cost of adding does
    not grow with what is there. Spans keep their kinds and, joined, their text; a span may be cut over rows.
    """

    def __init__(self, width: int, spans: Iterable[Span] = ()) -> None:
        self.width = max(1, width)
        self._rows: list[list[Span]] = [[]]
        self._used = 0
        for span in spans:
            self.add(span)

    def add(self, span: Span) -> None:
        """Append a span; newlines in it start rows."""
        for index, part in enumerate(span.text.split("\n")):
            if index:
                self._start_row([])
            if part:
                self._rows[-1].append(replace(span, text=part))
                self._used += cell_len(part)
                if self._used > self.width:
                    self._wrap_last()

    def _start_row(self, row: list[Span]) -> None:
        self._rows.append(row)
        self._used = sum(cell_len(span.text) for span in row)

    def _wrap_last(self) -> None:
        row = self._rows.pop()
        text = "".join(span.text for span in row)
        bounds = [0, *breaks(text, self.width), len(text)]
        for start, end in pairwise(bounds):
            self._start_row(_cut(row, start, end))

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> Sequence[Span]:
        return self._rows[index]


def breaks(text: str, width: int) -> list[int]:
    """Offsets in `text`, one logical line, at which a row of `width` cells ends and the next begins.

    Spaces at the end of a row may stand past its width. A word wider than a row is cut where the row is full.
    """
    offsets: list[int] = []
    used = 0
    for match in _WORD.finditer(text):
        word, start = match.group(), match.start()
        ink = cell_len(word.rstrip())
        if used and used + ink > width:
            offsets.append(start)
            used = 0
        if ink <= width:
            used += cell_len(word)
            continue
        for at, character in enumerate(word, start):
            cells = cell_len(character)
            if used + cells > width and used and not character.isspace():
                offsets.append(at)
                used = 0
            used += cells
    return offsets


def _cut(row: list[Span], start: int, end: int) -> list[Span]:
    """The part of a row between two offsets of its text."""
    parts: list[Span] = []
    at = 0
    for span in row:
        text = span.text[max(0, start - at) : max(0, end - at)]
        at += len(span.text)
        if text:
            parts.append(replace(span, text=text))
    return parts
