"""Markdown in pieces: the same ones however it arrives."""

from __future__ import annotations

import time

import pytest
from markdown_it.token import Token

from specdesk.tui.markdown.fence import Fence
from specdesk.tui.markdown.parser import block_parser
from specdesk.tui.markdown.pieces import Pieces, Prose
from tests.tui.documents import BLOCKS, UNCLOSED, cut, document


def pieces(*parts: str) -> list[Prose | Fence]:
    made = Pieces()
    for part in parts:
        made.add(part)
    made.finish()
    return [made[at] for at in range(len(made))]


def fences(text: str) -> list[str]:
    return [piece.code for piece in pieces(text) if isinstance(piece, Fence)]


@pytest.mark.parametrize("seed", range(150))
def test_however_it_arrives_the_pieces_are_the_same(seed: int) -> None:
    text = document(seed)
    whole = pieces(text)
    assert pieces(*text) == whole
    assert pieces(*cut(text, seed)) == whole


@pytest.mark.parametrize("seed", range(150))
def test_each_piece_by_itself_reads_as_it_does_in_the_whole(seed: int) -> None:
    text = document(seed).replace("\r\n", "\n").replace("\r", "\n")
    alone: list[tuple[str, str]] = []
    for piece in pieces(text):
        if isinstance(piece, Fence):
            alone.append(("fence", piece.code))
        else:
            alone += inside(block_parser().parse(piece.text))
    assert alone == inside(block_parser().parse(text))


def inside(tokens: list[Token]) -> list[tuple[str, str]]:
    """What a document says, without the lists that its top level consists of."""
    return [
        (token.type, token.content)
        for token in tokens
        if not (token.level == 0 and token.type.startswith(("bullet_list", "ordered_list")))
    ]


def test_nothing_is_lost() -> None:
    text = "".join(f"{block}\n" for block in BLOCKS if "\r" not in block and "  ```js" not in block)
    rebuilt = "".join(
        piece.text if isinstance(piece, Prose) else f"{piece.mark}{piece.info}\n{piece.code}{piece.mark}\n"
        for piece in pieces(text)
    )
    assert rebuilt.replace("\n\n", "\n") == text.replace("\n\n", "\n")


def test_items_and_blocks_are_pieces_of_their_own() -> None:
    assert pieces("# a\ntext\n- b\n  c\n- d\n\n> e\n") == [
        Prose("# a\n"),
        Prose("text\n"),
        Prose("- b\n  c\n"),
        Prose("- d\n\n"),
        Prose("> e\n"),
    ]


def test_a_fence_is_known_while_it_is_open_and_grows_by_tokens() -> None:
    made = Pieces()
    seen: list[str] = []
    for token in ["text\n", "``", "`py", "\nx", " = 1", "\n", "`", "`", "y", "\n``", "`", "\nmore"]:
        made.add(token)
        last = made[len(made) - 1]
        seen.append(last.text if isinstance(last, Prose) else f"{last.info}: {last.code}")
    assert seen == [
        "text\n",
        "text\n",
        "text\n",
        "py: x",
        "py: x = 1",
        "py: x = 1\n",
        "py: x = 1\n",
        "py: x = 1\n",
        "py: x = 1\n``y",
        "py: x = 1\n``y\n",
        "py: x = 1\n``y\n",
        "more",
    ]


def test_unclosed_code_and_marks_that_are_no_end() -> None:
    assert fences(UNCLOSED) == ["while True:\n    pass\n\n"]
    assert fences("~~~\na\n```\nb\n~~~~\n") == ["a\n```\nb\n"]
    assert fences("````\n```\n````") == ["```\n"]
    assert fences("```\na\n``` x\n    ```\n```") == ["a\n``` x\n    ```\n"]
    assert fences("  ```\n  a\n    b\n c") == ["a\n  b\nc"]
    assert fences("- x\n  ```\n  inside\n  ```\n```\noutside") == ["outside"]


@pytest.mark.parametrize(
    "line",
    [
        "- item of a list that goes on\n",
        "| a | cell |\n",
        "> quoted line\n",
        "a line of prose\n",
        "  - nested\n",
        "x = 1\n",
    ],
)
def test_the_cost_of_adding_does_not_grow(line: str) -> None:
    """A list, a table, a quote, a paragraph, an item and a fence that never end."""
    made = Pieces()
    made.add({"| ": "| a | b |\n|---|---|\n", "  ": "- item\n", "x ": "```python\n"}.get(line[:2], ""))
    took_s = []
    for _ in range(10):
        begin = time.thread_time()
        for _ in range(400):
            made.add(line[:3])
            made.add(line[3:])
        took_s.append(time.thread_time() - begin)
    assert sum(took_s[5:]) < 2 * sum(took_s[:5]) + 0.05
