"""Figures from rows, and the page made of them."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console

from specdesk.bench.page import page
from specdesk.bench.replay import Drafting, Regret
from specdesk.bench.report import HEADINGS, cells, geometric_mean, summaries
from specdesk.bench.rows import Mode, Row
from specdesk.bench.svg import ticks
from specdesk.cli.bench_output import table
from tests.bench.samples import costs, row

BAD = '<script src="http://x.example/">&"\x1b[2J'


def both(task: str, speedups: list[float], *, prompt: str = "a", steps: tuple[Drafting, ...] = ()) -> list[Row]:
    """Plain answers of 4 s, and speculative ones that are so many times as fast."""
    steps = steps or (Drafting("model", 2, 2, 1, 2), Drafting("model", 1, 1, 1, 2))
    found = []
    for number, speedup in enumerate(speedups):
        found.append(row(task=task, prompt=prompt, number=number))
        found.append(
            row(
                task=task,
                prompt=prompt,
                number=number,
                mode=Mode.SPECULATIVE,
                decode_s=4.0 / speedup,
                steps=steps,
                by_position=((2, 2), (1, 0)),
                regret=Regret(3.0, ((0, 4.0), (1, 2.0)), 1.5),
            )
        )
    return found


def test_medians_of_ratios_and_a_geometric_mean() -> None:
    rows = [*both("code", [1.0, 2.0, 4.0]), *both("json", [0.5], prompt="b")]
    code, json = summaries(rows)
    assert (code.task, code.n, json.task, json.n) == ("code", 3, "json", 1)
    assert (code.speedup.median, code.speedup.least, code.speedup.most) == (2.0, 1.0, 4.0)
    assert code.tokens_per_pass == 2.0
    assert (code.accepted, code.tested) == (6, 9)
    assert code.acceptance == pytest.approx(2 / 3)
    assert code.lookahead == 1.5
    assert code.shares == pytest.approx((0.5, 0.25, 0.25))
    assert code.plain_tokens_per_s == 1.0
    assert code.to_best_fixed == 1.5
    assert code.to_oracle == 2.0
    assert geometric_mean([code, json]) == pytest.approx(1.0)


def test_other_lengths_are_compared_per_token() -> None:
    plain, speculative = both("code", [1.0], steps=(Drafting("model", 7, 7, 7, 8),))
    (found,) = summaries([plain, speculative])
    assert found.speedup.median == 2.0


def test_an_answer_without_its_other_half_does_not_count() -> None:
    rows = both("code", [2.0, 3.0])
    assert summaries(rows[:1]) == []
    (found,) = summaries(rows[:3])
    assert found.n == 1
    assert geometric_mean([]) is None


def test_the_table_shows_dashes_where_nothing_is_known() -> None:
    rows = [row(), row(mode=Mode.SPECULATIVE)]
    (found,) = summaries(rows)
    assert cells(found)[5] == "-"
    assert cells(found)[-2:] == ["-", "-"]
    assert len(cells(found)) == len(HEADINGS) == len(table([found]).columns)


def test_a_name_is_no_markup_and_drives_no_terminal() -> None:
    console = Console(width=200, force_terminal=False)
    with console.capture() as capture:
        console.print(table(summaries(both("[bold]x\x1b[2J", [1.0]))))
    assert "[bold]x" in capture.get()
    assert "\x1b" not in capture.get()


def parsed(text: str) -> ET.Element:
    assert text.startswith("<!DOCTYPE html>\n")
    return ET.fromstring(text)  # noqa: S314 — our own


def test_the_page_is_whole_and_needs_nothing_else() -> None:
    rows = [*both("code", [1.0, 2.0]), *both("json", [0.5], prompt="b")]
    text = page(rows, {"Target": "tiny"}, costs())
    root = parsed(text)
    assert not re.search(r"https?:|src=|<script|<link|@import|url\(", text)
    titles = [svg.findtext("title") for svg in root.iter("svg")]
    assert titles == [
        "Speedup by task: bar is the median, line from least to most",
        "What a target pass costs: T(n) / T(1)",
        "Acceptance by position in the draft",
        "K over the steps of an answer: code, a",
        "K over the steps of an answer: json, b",
    ]
    labels = {element.text for element in root.iter("text")}
    assert {
        "times as fast as plain decoding",
        "tokens in the pass, n",
        "accepted of tested, %",
        "draft tokens, K",
    } <= labels
    assert "prefers-color-scheme: dark" in text
    assert "1.00x" not in (root.findtext(".//strong") or "")
    assert "0.87x: geometric mean over 2 tasks" in (root.findtext(".//strong") or "")


def test_everything_that_comes_from_outside_is_escaped() -> None:
    text = page(both(BAD, [1.0], prompt=BAD), {"Target": BAD}, costs())
    root = parsed(text)
    assert not list(root.iter("script"))
    assert "<script" not in text
    assert "\x1b" not in text
    assert any('<script src="http://x.example/">&"' in (element.text or "") for element in root.iter("td"))


@pytest.mark.parametrize("n_rows", [0, 1])
def test_a_page_of_little_is_a_page(n_rows: int) -> None:
    root = parsed(page(both("code", [1.0])[:n_rows], {}, None))
    assert root.findtext(".//strong") == "Nothing was measured."


def test_a_long_draft_and_a_long_answer_fit() -> None:
    steps = (Drafting("suffix", 31, 31, 31, 32),) * 90
    speculative = row(mode=Mode.SPECULATIVE, steps=steps, by_position=((90, 90),) * 31)
    root = parsed(page([row(), speculative], {}, costs()))
    for svg in root.iter("svg"):
        width, height = map(float, svg.attrib["viewBox"].split()[2:])
        for box in svg.iter("rect"):
            x, y, w, h = (float(box.attrib[name]) for name in ("x", "y", "width", "height"))
            assert 0 <= x <= x + w <= width
            assert 0 <= y <= y + h <= height


@pytest.mark.parametrize("most", [0.3, 1.0, 1.01, 2.0, 7.0, 31.0, 160.0])
def test_ticks_cover_the_range_in_round_steps(most: float) -> None:
    found = ticks(most)
    assert found[0] == 0.0
    assert found[-1] >= most * (1 - 1e-9)
    assert found[-2] < most
    assert 2 <= len(found) <= 7
