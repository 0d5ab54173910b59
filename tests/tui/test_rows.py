from __future__ import annotations

import random

import pytest
from rich.cells import cell_len

from specdesk.tokenview import Kind, Span
from specdesk.tui.rows import Rows

TEXTS = [
    "",
    "short",
    "one two three four five six seven eight nine ten",
    "    indented = [value for value in values]\n\n\tnext(line)\n",
    "averyverylongwordthatfitsnowhere and then some",
    "日本語のテキストは幅が広い and 👍🏽 emoji, e\u0301 combining",
    "trailing spaces      \nand    gaps     between",
]


def wrapped(rows: Rows) -> list[str]:
    return ["".join(span.text for span in rows[y]) for y in range(len(rows))]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("width", [1, 2, 7, 12, 80])
def test_growing_by_pieces_wraps_like_the_whole(text: str, width: int) -> None:
    whole = wrapped(Rows(width, [Span(text, Kind.PLAIN)]))
    rng = random.Random(width)
    for _ in range(20):
        cuts = sorted(rng.choices(range(len(text) + 1), k=4))
        pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        assert wrapped(Rows(width, [Span(piece, Kind.PLAIN) for piece in pieces])) == whole


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("width", [2, 7, 12, 80])
def test_rows_keep_every_character_and_the_width(text: str, width: int) -> None:
    rows = wrapped(Rows(width, [Span(text, Kind.PLAIN)]))
    assert "".join(rows) == text.replace("\n", "")
    assert all(cell_len(row.rstrip()) <= width for row in rows)


def test_adding_leaves_all_rows_but_the_last_alone() -> None:
    rows = Rows(10)
    for index in range(500):
        before = [rows[y] for y in range(len(rows) - 1)]
        rows.add(Span(f"word{index} ", Kind.ACCEPTED))
        assert all(rows[y] is row for y, row in enumerate(before))
