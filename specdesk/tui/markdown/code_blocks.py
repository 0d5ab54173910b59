"""The code in an answer."""

from __future__ import annotations

from dataclasses import dataclass

from specdesk.tui.markdown.parser import block_parser


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """A block of code."""

    language: str
    """As the model named it; empty where it did not."""
    source: str
    """The exact text between the fences, its last line end included; without the indentation of the list or quote
    it stands in."""


def code_blocks(markdown: str) -> list[CodeBlock]:
    """All code blocks of an answer, fenced or indented, the first one first; one without an end reaches to the end."""
    tokens = block_parser().parse(markdown)
    return [CodeBlock(language(token.info), token.content) for token in tokens if token.type in {"fence", "code_block"}]


def language(info: str) -> str:
    """The language in what stands behind a fence."""
    return info.strip().partition(" ")[0]
