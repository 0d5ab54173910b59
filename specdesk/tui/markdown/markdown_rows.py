"""A growing Markdown text as rows."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from rich.segment import Segment

from specdesk.tui.markdown.code_blocks import language
from specdesk.tui.markdown.code_rows import CodeRows
from specdesk.tui.markdown.fence import Fence
from specdesk.tui.markdown.pieces import Pieces, Prose
from specdesk.tui.markdown.prose_rows import ProseRows

_LIVE: Final = 2000
"""Characters up to which an open block is shown as Markdown. A longer one is shown as it stands until it ends."""


class MarkdownRows:
    """The rows of each piece, one blank row between two that are not items of a list.

    `theme` is one of Rich's for code. Adding changes the rows of the last piece and appends others; what it costs does
    not grow with what is there.
    """

    def __init__(self, *, theme: str) -> None:
        self._theme = theme
        self._pieces = Pieces()
        self._finished = False
        self._width = 0
        self._made: list[tuple[Prose | Fence, ProseRows | CodeRows]] = []
        self._tops: list[int] = []
        self._height = 0

    def add(self, text: str) -> int:
        """Append `text`; returns the first row that may have changed."""
        self._finished = False
        return self._make(self._pieces.add(text))

    def finish(self) -> int:
        """There is no more text; returns the first row that may have changed."""
        self._finished = True
        return self._make(self._pieces.finish())

    def wrap(self, width: int) -> None:
        """Fit the rows into so many cells."""
        if width != self._width:
            self._width = width
            for _, rows in self._made:
                rows.wrap(width)
            self._place(0)

    def __len__(self) -> int:
        return self._height

    def __getitem__(self, y: int) -> list[Segment]:
        at = bisect_right(self._tops, y) - 1
        rows = self._made[at][1]
        y -= self._tops[at]
        return rows[y] if y < len(rows) else []

    def wants_colour(self) -> bool:
        """Whether there is code that `colour` would colour."""
        return any(True for _ in self._due())

    def colour(self) -> Iterator[range]:
        """Colour the code that is due, some lines with each step; yields the rows to paint again."""
        while (at := next(self._due(), None)) is not None:
            rows = self._made[at][1]
            if isinstance(rows, CodeRows):
                for _ in rows.colour(self._theme):
                    yield self._rows_of(at)
            yield self._rows_of(at)

    def _due(self) -> Iterator[int]:
        for at, (piece, rows) in enumerate(self._made):
            if not isinstance(piece, Fence) or not isinstance(rows, CodeRows):
                continue
            if rows.wants_colour(complete=piece.closed or self._finished):
                yield at

    def _rows_of(self, at: int) -> range:
        return range(self._tops[at], self._tops[at] + len(self._made[at][1]))

    def _make(self, first: int) -> int:
        """Make the rows of all pieces from `first` on."""
        before, self._made[first:] = self._made[first:], []
        known = before[0] if before else None
        for at in range(first, len(self._pieces)):
            piece = self._pieces[at]
            rows = self._rows_for(piece, known if at == first else None, is_open=at == len(self._pieces) - 1)
            rows.wrap(self._width)
            self._made.append((piece, rows))
        return self._place(first)

    def _rows_for(
        self, piece: Prose | Fence, known: tuple[Prose | Fence, ProseRows | CodeRows] | None, *, is_open: bool
    ) -> ProseRows | CodeRows:
        if isinstance(piece, Prose) and not (is_open and not self._finished and len(piece.text) > _LIVE):
            return ProseRows(piece.text, theme=self._theme)
        if known is not None and known[0] is piece and isinstance(known[1], CodeRows):
            rows = known[1]
        else:
            rows = CodeRows(language(piece.info)) if isinstance(piece, Fence) else CodeRows(gutter=False)
        rows.update(piece.code if isinstance(piece, Fence) else piece.text)
        return rows

    def _place(self, first: int) -> int:
        """Find where each piece from `first` on begins; returns the first row that may have changed."""
        del self._tops[first:]
        y = self._tops[-1] + len(self._made[first - 1][1]) if first else 0
        changed = y
        for _, rows in self._made[first:]:
            at = len(self._tops)
            in_same_list = rows.list_type and rows.list_type == self._made[at - 1][1].list_type
            if y and len(rows) and not in_same_list:
                y += 1
            self._tops.append(y)
            y += len(rows)
        self._height = y
        return changed
