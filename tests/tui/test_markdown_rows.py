"""What Markdown looks like, row by row, without a screen."""

from __future__ import annotations

import pytest
from rich.cells import cell_len
from rich.segment import Segment

from specdesk.tui.markdown.code_blocks import CodeBlock, code_blocks
from specdesk.tui.markdown.code_rows import CodeRows
from specdesk.tui.markdown.markdown_rows import MarkdownRows
from tests.tui.documents import BLOCKS, cut, document
from tests.tui.samples import CHARACTERS, CONTROLS, MARKUP

WIDTHS = [40, 80]


def rows_of(*parts: str, width: int = 80, finish: bool = True) -> MarkdownRows:
    made = MarkdownRows(theme="ansi_dark")
    made.wrap(width)
    for part in parts:
        made.add(part)
    if finish:
        made.finish()
        for _ in made.colour():
            pass
    return made


def segments(made: MarkdownRows) -> list[list[Segment]]:
    return [list(Segment.simplify(made[y])) for y in range(len(made))]


def texts(made: MarkdownRows) -> list[str]:
    return ["".join(segment.text for segment in made[y]).rstrip() for y in range(len(made))]


def shown(*parts: str, width: int = 80) -> list[str]:
    return texts(rows_of(*parts, width=width))


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("width", WIDTHS)
def test_however_it_arrives_it_looks_the_same_in_the_end(seed: int, width: int) -> None:
    text = document(seed)
    whole = segments(rows_of(text, width=width))
    assert segments(rows_of(*cut(text, seed), width=width)) == whole
    rewrapped = rows_of(*cut(text, seed + 1), width=33)
    rewrapped.wrap(width)
    assert segments(rewrapped) == whole


def test_while_it_grows_only_the_rows_it_names_change() -> None:
    for seed in range(20):
        made = MarkdownRows(theme="ansi_dark")
        made.wrap(40)
        before: list[str] = []
        for part in cut(document(seed), seed):
            first = made.add(part)
            now = texts(made)
            assert now[:first] == before[:first]
            before = now


@pytest.mark.parametrize(
    "text",
    [
        *BLOCKS,
        "word " * 30,
        "x" * 200,
        "漢" * 60,
        "```\n" + "y" * 200 + "\n```",
        "|a|\n|-|\n" * 3,
        "|a|b|\n|-|-|\n|" + "z" * 70 + "|c|",
    ],
)
@pytest.mark.parametrize("width", [20, *WIDTHS])
def test_no_row_is_too_wide_and_no_ink_is_lost(text: str, width: int) -> None:
    made = rows_of(text, width=width)
    assert all(cell_len("".join(segment.text for segment in row).rstrip()) <= width for row in segments(made))
    narrow, wide = ("".join(texts(rows_of(text, width=w))) for w in (width, 300))
    frame = dict.fromkeys(map(ord, " │╭▌─-"))
    # Cells of a table are folded side by side.
    in_order = sorted if "|" in text else list
    assert in_order(narrow.translate(frame)) == in_order(wide.translate(frame))


@pytest.mark.parametrize("text", CHARACTERS)
@pytest.mark.parametrize("width", WIDTHS)
def test_every_character_is_there_in_prose_code_and_tables(text: str, width: int) -> None:
    source = f"{text}\n\n- {text}\n\n```\n{text}\n```\n\n| {text} |\n|---|\n| {text} |\n"
    joined = "".join(shown(source, width=width)).replace(" ", "")
    assert joined.count(text.replace(" ", "")) == 5


@pytest.mark.parametrize("text", MARKUP)
def test_markup_of_ours_is_text(text: str) -> None:
    literal = text.replace("\\[", "[")  # Markdown's own escape
    assert shown(text) == [literal]
    assert shown(f"# {text}\n- {text}\n") == [literal, "", f" • {literal}"]
    assert shown(f"```{text}\n{text}\n```") == [f"╭ {text.partition(' ')[0]}", f"│ {text}"]


def test_nothing_can_be_clicked_and_addresses_are_shown() -> None:
    made = rows_of(
        "[text](https://a.b/c) <https://d.e> https://f.g [](h) ![alt](file:///i) [![in](j)](k) [**bold**](l)\n\n"
        "| [cell](m) |\n|---|\n| ![n](o) |\n"
    )
    assert all(
        not segment.style or not (segment.style.link or segment.style.meta) for row in segments(made) for segment in row
    )
    assert texts(made) == [
        "text (https://a.b/c) https://d.e https://f.g  (h) ![alt](file:///i) [image: in]",
        "(j) (k) bold (l)",
        "",
        " cell (m)",
        " ──────────────",
        " [image: n] (o)",
    ]


def test_html_and_references_are_text() -> None:
    assert shown("<b>x</b> <img src=y>\n\n<div>\nz\n</div>\n\n[r]: https://s\n\n[r]") == [
        "<b>x</b> <img src=y>",
        "",
        "<div>",
        "z",
        "</div>",
        "",
        "[r]: https://s",
        "",
        "[r]",
    ]


@pytest.mark.parametrize(
    "form", ["{}", "`{}`", "# {}", "- {}", "> {}", "```{}\n{}\n```", "|{}|\n|---|\n|{}|", "[{}]({})", "![{}](x)"]
)
def test_control_characters_are_made_visible(form: str) -> None:
    text = form.replace("{}", CONTROLS.replace("\r", "") + "&#27;&#x9b;&#7;")
    joined = "".join(shown(text))
    assert not [c for c in joined if ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0]
    assert "␛" in joined


def test_line_breaks_of_the_model_stay() -> None:
    assert shown("Roses are red,\nviolets are blue") == ["Roses are red,", "violets are blue"]


def test_numbers_are_the_ones_in_the_source() -> None:
    assert shown("1. a\n1. b\n9. c\n10. d\n    - e\n") == [" 1. a", " 1. b", " 9. c", " 10. d", "      • e"]


def test_code_is_shown_as_code_while_it_grows_and_coloured() -> None:
    made = rows_of("```python\nif x:\n\treturn", finish=False)
    assert texts(made) == ["╭ python", "│ if x:", "│     return"]
    assert not made.wants_colour()
    made.add(" 1\n```\n")
    assert made.wants_colour()
    plain = [len(row) for row in segments(made)]
    for _ in made.colour():
        pass
    assert not made.wants_colour()
    assert texts(made) == ["╭ python", "│ if x:", "│     return 1"]
    assert [len(row) for row in segments(made)] > plain


@pytest.mark.parametrize("language", ["", "nosuchlanguage", "python"])
def test_colouring_comes_to_an_end_and_changes_no_text(language: str) -> None:
    code = '"""doc\nstring"""\n\nx = [1,\n\t2]\n' * 50
    rows = CodeRows(language)
    rows.wrap(20)
    rows.update(code)
    before = ["".join(segment.text for segment in rows[y]) for y in range(len(rows))]
    n_steps = sum(1 for _ in rows.colour("ansi_dark"))
    assert ["".join(segment.text for segment in rows[y]) for y in range(len(rows))] == before
    assert n_steps >= 5 * (language == "python")
    assert not rows.wants_colour(complete=True)


def test_a_long_block_that_is_open_is_shown_as_it_stands_and_then_as_markdown() -> None:
    table = "| a | b |\n|---|---|\n" + "| **c** | d |\n" * 300
    made = rows_of(table, finish=False)
    assert texts(made)[-1] == "| **c** | d |"
    made.add("\nand then")
    assert texts(made)[-3] == " c  d"
    assert texts(made)[-1] == "and then"


@pytest.mark.parametrize(
    ("markdown", "blocks"),
    [
        ("no code", []),
        ("```py\n\tx = 1  \n\n```\n", [CodeBlock("py", "\tx = 1  \n\n")]),
        ("text\n```\nunclosed\nlast", [CodeBlock("", "unclosed\nlast")]),
        ("~~~ c++ title=x\n```\n~~~", [CodeBlock("c++", "```\n")]),
        (
            "- a\n  ```sh\n  ls\n    -l\n  ```\ntext\n\n    indented\n",
            [CodeBlock("sh", "ls\n  -l\n"), CodeBlock("", "indented\n")],
        ),
        ("> ```\n> q\n> ```\n```\n```", [CodeBlock("", "q\n"), CodeBlock("", "")]),
        ("```\n[red]漢字 👍🏽\x1b[0m\n```", [CodeBlock("", "[red]漢字 👍🏽\x1b[0m\n")]),
    ],
)
def test_code_blocks_have_their_exact_text(markdown: str, blocks: list[CodeBlock]) -> None:
    assert code_blocks(markdown) == blocks
