"""Markdown cut into pieces while it grows: what is complete never changes again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from markdown_it.token import Token

from specdesk.tui.markdown.fence import Fence, whole_lines
from specdesk.tui.markdown.parser import block_parser

_MAY_OPEN: Final = re.compile(r" {0,3}(`{0,2}|~{0,2}|`{3,}[^`\n]*|~{3,}[^\n]*)")
"""The beginning of a line that may open a fence."""

_NEW_BLOCK: Final = re.compile(r"\n[ \t]*\n[^ \t\n]")
"""What begins at the margin behind an empty line is a new block or a new item, whatever it becomes."""
_MARGIN: Final = 8

_FREE: Final = 1000
"""Characters up to which a piece is read again with every line; a longer one, once it has grown by an eighth."""


@dataclass(slots=True)
class Prose:
    """A block that is no fence, or one item of a list: Markdown that can be read by itself."""

    text: str = ""


class Pieces:
    """The pieces of a growing Markdown text; the last one is still open.

    The cost of adding does not grow with what is there. However the text is cut when it is added, the pieces are the
    same in the end; while it grows, the open one may hold what turns out to be several.

    Not handled: references to links, which need the whole document.
    """

    def __init__(self) -> None:
        self._pieces: list[Prose | Fence] = [Prose()]
        self._held = ""
        """The beginning of a line that may open or close a fence."""
        self._n_read = 0
        """How much of the open prose was read when it was read last."""
        self._parser = block_parser()

    def __len__(self) -> int:
        return len(self._pieces)

    def __getitem__(self, index: int) -> Prose | Fence:
        return self._pieces[index]

    def add(self, text: str) -> int:
        """Append `text`; returns the index of the first piece that is new or has changed."""
        first = len(self._pieces) - 1
        text, self._held = self._held + text, ""
        if text.endswith("\r"):
            text, self._held = text[:-1], "\r"
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        while text:
            piece = self._pieces[-1]
            text = self._add_to_fence(piece, text) if isinstance(piece, Fence) else self._add_to_prose(piece, text)
        return first

    def finish(self) -> int:
        """There is no more text; returns the index of the first piece that is new or has changed."""
        first = len(self._pieces) - 1
        rest, self._held = self._held.replace("\r", "\n"), ""
        piece = self._pieces[-1]
        if isinstance(piece, Fence):
            piece.end(rest)
        else:
            piece.text = piece.text + rest if (piece.text + rest).strip() else ""
            self._split(piece)
        return first

    def _add_to_fence(self, fence: Fence, text: str) -> str:
        """Returns what stands behind the end of the fence."""
        rest = fence.add(text)
        if fence.closed:
            self._open(Prose())
            return rest
        self._held = rest + self._held
        return ""

    def _add_to_prose(self, prose: Prose, text: str) -> str:
        """Returns what stands in a fence that the prose ends with."""
        complete, rest = whole_lines(text)
        n_before = len(prose.text)
        prose.text += complete
        if complete and (len(prose.text) <= _FREE or len(prose.text) >= self._n_read * 9 / 8):
            self._split(prose)
            if isinstance(self._pieces[-1], Fence):
                return rest
            n_before, prose = 0, self._pieces[-1]
        if (not prose.text or prose.text.endswith("\n")) and _MAY_OPEN.fullmatch(rest):
            self._held = rest + self._held
        else:
            prose.text += rest
        if _NEW_BLOCK.search(prose.text, max(0, n_before - _MARGIN)):
            self._split(prose)
        return ""

    def _open(self, piece: Prose | Fence) -> None:
        self._pieces.append(piece)
        self._n_read = 0

    def _split(self, prose: Prose) -> None:
        """Put the blocks of the open prose into pieces of their own; the last one stays open."""
        lines = prose.text.split("\n")
        units = list(_units(self._parser.parse(prose.text)))
        if not units:
            return
        self._pieces.pop()
        behind = [*(first for _, first, _ in units[1:]), len(lines)]
        for (token, first, end), next_first in zip(units, behind, strict=True):
            if token.type == "fence":
                self._open(_fence(token, lines[first], end - first))
            else:
                text = "\n".join(lines[first:next_first])
                self._open(Prose(text if next_first == len(lines) else text + "\n"))
        last = self._pieces[-1]
        if isinstance(last, Prose):
            self._n_read = len(last.text)
        elif last.closed:
            self._open(Prose())


def _units(tokens: Iterable[Token]) -> Iterator[tuple[Token, int, int]]:
    """The blocks, or items where a block is a list: the token that begins one, its first line, the line behind it."""
    for token in tokens:
        is_item = token.level == 1 and token.type == "list_item_open"
        is_block = token.level == 0 and token.type not in {"bullet_list_open", "ordered_list_open"}
        if (is_item or is_block) and token.map is not None:
            yield token, token.map[0], token.map[1]


def _fence(token: Token, first_line: str, n_lines: int) -> Fence:
    n_of_code = len(token.content.removesuffix("\n").split("\n")) if token.content else 0
    indent = len(first_line) - len(first_line.lstrip(" "))
    return Fence(token.markup, token.info, indent, token.content, closed=n_lines == n_of_code + 2)
