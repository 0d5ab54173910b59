"""Code wrapped into rows while it grows at its end, and coloured when there is time for it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from rich.syntax import Syntax

from specdesk.tokenview import visible
from specdesk.tui.rows import breaks

_GUTTER: Final = "│ "
_CORNER: Final = "╭ "
_GUTTER_STYLE: Final = Style(dim=True)
_TAB: Final = 4
_SLICE: Final = 40
"""Lines that are coloured at a time."""
_FIRST: Final = 200
"""Characters from which open code is coloured."""


class CodeRows:
    """The rows of a text that is shown as it is, wrapped where they are full: nothing is cut off.

    Code stands behind a gutter, and a first row names its language. Adding costs what is added.
    """

    list_type: ClassVar = ""

    def __init__(self, language: str = "", *, gutter: bool = True) -> None:
        self._language = visible(language)
        self._gutter = _GUTTER if gutter else ""
        self._text = ""
        self._open_line = ""
        self._lines: list[str] = []
        """As they are shown; the last one may be open."""
        self._colours: dict[int, list[tuple[int, Style]]] = {}
        """By line: where a style begins; it reaches to the next one."""
        self._n_tried = 0
        """Characters when it was coloured last."""
        self._width = 0
        self._rows: list[tuple[int, int, int]] = []
        """The line, and the part of it that stands in the row; the language has line -1."""

    def wants_colour(self, *, complete: bool) -> bool:
        """Whether to colour it now: when it is complete, and before that whenever it has grown by half."""
        if not self._language:
            return False
        n_chars = len(self._text)
        return n_chars > self._n_tried if complete else n_chars > max(_FIRST, self._n_tried * 3 / 2)

    def update(self, text: str) -> None:
        """Show `text`, which begins with what was shown before."""
        added, self._text = text[len(self._text) :], text
        if self._open_line:
            self._lines.pop()
        while self._rows and self._rows[-1][0] >= len(self._lines):
            self._rows.pop()
        *lines, self._open_line = (self._open_line + added).split("\n")
        for line in [*lines, self._open_line] if self._open_line else lines:
            self._lines.append(visible(line).expandtabs(_TAB))
            self._wrap_line(len(self._lines) - 1)

    def wrap(self, width: int) -> None:
        """Fit the rows into so many cells."""
        if width == self._width:
            return
        self._width = width
        self._rows = [(-1, 0, 0)] if self._language and self._gutter else []
        for index in range(len(self._lines)):
            self._wrap_line(index)

    def _wrap_line(self, index: int) -> None:
        if self._width:
            line = self._lines[index]
            offsets = [0, *breaks(line, max(1, self._width - len(self._gutter))), len(line)]
            self._rows += [(index, start, end) for start, end in pairwise(offsets)]

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, y: int) -> list[Segment]:
        index, start, end = self._rows[y]
        if index < 0:
            return [Segment(_CORNER + self._language, _GUTTER_STYLE)]
        row = [Segment(self._gutter, _GUTTER_STYLE)] if self._gutter else []
        line = self._lines[index]
        colours = self._colours.get(index) or [(0, Style.null())]
        for (first, style), (behind, _) in pairwise([*colours, (len(line), Style.null())]):
            if text := line[max(first, start) : min(behind, end)]:
                row.append(Segment(text, style))
        return row

    def colour(self, theme: str) -> Iterator[None]:
        """Colour what is there, some lines with each step; `theme` is one of Rich's."""
        self._n_tried = len(self._text)
        lexer = Syntax("", self._language).lexer if self._language else None
        if lexer is None:
            return
        style_of = Syntax.get_theme(theme).get_style_for_token
        index, column = 0, 0
        colours: list[tuple[int, Style]] = []
        for kind, text in lexer.get_tokens("\n".join(self._lines)):
            style = style_of(kind)
            for at, part in enumerate(text.split("\n")):
                if at:
                    self._colours[index] = colours
                    index, column, colours = index + 1, 0, []
                    if index % _SLICE == 0:
                        yield
                colours.append((column, style))
                column += len(part)
