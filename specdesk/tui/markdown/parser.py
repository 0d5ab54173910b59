"""How Markdown is read here."""

from __future__ import annotations

from markdown_it import MarkdownIt


def markdown_parser() -> MarkdownIt:
    """CommonMark with tables and strikethrough, in which no text disappears.

    HTML is text. Definitions of link references are text too: a reference is looked up in the whole document, and an
    answer is read piece by piece.
    """
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("reference")


def block_parser() -> MarkdownIt:
    """The same, but only as far as the blocks: their inline text is left alone."""
    parser = markdown_parser()
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser
