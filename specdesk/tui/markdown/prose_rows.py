"""Markdown that is no code of its own as rows, by Rich."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from functools import cache
from typing import ClassVar, Final

from markdown_it.token import Token
from rich import markdown as rich_markdown
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.table import Table
from rich.theme import Theme

from specdesk.tokenview import visible
from specdesk.tui.markdown.code_blocks import language
from specdesk.tui.markdown.code_rows import CodeRows
from specdesk.tui.markdown.parser import markdown_parser

_STYLES: Final = {
    "markdown.h1": "bold underline",
    "markdown.h2": "bold underline",
    "markdown.h3": "bold",
    "markdown.h4": "bold",
    "markdown.h5": "italic",
    "markdown.h6": "italic",
    "markdown.em": "italic",
    "markdown.strong": "bold",
    "markdown.s": "strike",
    "markdown.u": "underline",
    "markdown.code": "bold cyan",
    "markdown.hr": "dim",
    "markdown.block_quote": "italic",
    "markdown.table.header": "bold",
    "markdown.table.border": "dim",
}


class ProseRows:
    """The rows of some Markdown. Nothing in it acts: a link is its text with the address beside it.

    Not handled: more columns, or deeper lists and quotes, than the width has room for; what is too much is cut off.
    """

    def __init__(self, text: str, *, theme: str) -> None:
        tokens = markdown_parser().parse(text)
        self.list_type = tokens[0].tag if tokens and tokens[0].type.endswith("list_open") else ""
        self._markdown = _Markdown(list(_shown(tokens)), theme)
        self._width = 0
        self._rows: list[list[Segment]] = []

    def wrap(self, width: int) -> None:
        """Fit the rows into so many cells."""
        if width == self._width:
            return
        self._width = width
        console = _console()
        rows = console.render_lines(self._markdown, console.options.update(width=width), pad=False)
        inked = [y for y, row in enumerate(rows) if "".join(segment.text for segment in row).strip()]
        self._rows = rows[inked[0] : inked[-1] + 1] if inked else []

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, y: int) -> list[Segment]:
        return self._rows[y]


@cache
def _console() -> Console:
    """It only measures and wraps; nothing is printed."""
    return Console(file=io.StringIO(), theme=Theme(_STYLES), markup=False, emoji=False, highlight=False)


def _shown(tokens: Iterable[Token]) -> Iterator[Token]:
    """The tokens as they are shown: line breaks of the source stay, links and images say where they lead."""
    for token in tokens:
        if token.children is not None:
            token = token.copy(children=list(_inline(token.children)))
        if token.content:
            token = token.copy(content=visible(token.content))
        yield token


def _inline(tokens: Iterable[Token]) -> Iterator[Token]:
    opened: list[Token] = []
    for token in tokens:
        match token.type:
            case "link_open":
                opened.append(token)
                yield Token("u_open", "u", 1)
            case "link_close":
                yield Token("u_close", "u", -1)
                link = opened.pop()
                if link.info != "auto":
                    yield _text(f" ({link.attrs.get('href', '')})")
            case "image":
                yield _text(f"[image: {token.content}] ({token.attrs.get('src', '')})")
            case "softbreak":
                yield Token("hardbreak", "br", 0)
            case _:
                # An entity may name a control character, and only the parser resolves it.
                yield token.copy(content=visible(token.content)) if token.content else token


def _text(content: str) -> Token:
    return Token("text", "", 0, content=visible(content))


class _Heading(rich_markdown.Heading):
    LEVEL_ALIGN: ClassVar = {}


class _Code(rich_markdown.CodeBlock):
    @classmethod
    def create(cls, markdown: rich_markdown.Markdown, token: Token) -> _Code:
        return cls(language(token.info), markdown.code_theme)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        rows = CodeRows(self.lexer_name)
        rows.update(self.text.plain)
        rows.wrap(options.max_width)
        for _ in rows.colour(self.theme):
            pass
        for y in range(len(rows)):
            yield from rows[y]
            yield Segment.line()


class _ListItem(rich_markdown.ListItem):
    def render_number(
        self,
        console: Console,
        options: ConsoleOptions,
        number: int,
        last_number: int,  # noqa: ARG002 — Rich's signature
    ) -> RenderResult:
        """As wide as its own number, so that an item looks the same with the others and without them."""
        numeral = f" {number}. "
        lines = console.render_lines(self.elements, options.update(width=options.max_width - len(numeral)))
        for at, line in enumerate(lines):
            yield Segment(" " * len(numeral) if at else numeral)
            yield from line
            yield Segment.line()


class _Table(rich_markdown.TableElement):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rich's own, but words too long for their column are folded and not cut off."""
        for table in super().__rich_console__(console, options):
            if isinstance(table, Table):
                for column in table.columns:
                    column.overflow = "fold"
            yield table


class _Markdown(rich_markdown.Markdown):
    elements: ClassVar = {
        **rich_markdown.Markdown.elements,
        "heading_open": _Heading,
        "fence": _Code,
        "code_block": _Code,
        "list_item_open": _ListItem,
        "table_open": _Table,
    }
    inlines = {*rich_markdown.Markdown.inlines, "u"}  # noqa: RUF012 — Rich declares it so

    def __init__(self, tokens: list[Token], theme: str) -> None:
        super().__init__("", code_theme=theme, hyperlinks=False)
        self.parsed = tokens
