"""Reasoning apart from the answer: the splitting, and what is seen of it."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from specdesk.tui.markdown.reasoning import Kind, Part, ReasoningSplitter
from specdesk.tui.widgets.answer_text import AnswerText
from tests.tui.documents import cut
from tests.tui.samples import MARKUP
from tests.tui.stage import Stage, settle, shown


def thought(text: str, *, closed: bool = True) -> Part:
    return Part(Kind.REASONING, text, closed)


def said(text: str) -> Part:
    return Part(Kind.ANSWER, text, closed=False)


CASES = [
    ("", False, []),
    ("answer", False, [said("answer")]),
    ("\n  answer\n", False, [said("\n  answer\n")]),
    ("<think>a b</think>answer", False, [thought("a b"), said("answer")]),
    ("\n<think>\n a\n\nb \n</think>\n\nanswer \n", False, [thought("a\n\nb"), said("answer \n")]),
    ("<think>\n\n</think>\n\nanswer", False, [thought(""), said("answer")]),
    ("<think>a</think>\n<think>b</think>c", False, [thought("a"), thought("b"), said("c")]),
    ("a</think>answer", True, [thought("a"), said("answer")]),
    ("<think>still", False, [thought("still", closed=False)]),
    ("still</thin", True, [thought("still</thin", closed=False)]),
    ("<think>a <b> </ th> </think x> < </think>c", False, [thought("a <b> </ th> </think x> <"), said("c")]),
    ("say <think> here", False, [said("say <think> here")]),
    ("<think>a</think>b <think>c</think>", False, [thought("a"), said("b <think>c</think>")]),
    ("<thin", False, [said("<thin")]),
    ("<thinking>", False, [said("<thinking>")]),
    ("</think>", False, [said("</think>")]),
    ("<think>a</think>\n\n", False, [thought("a")]),
]


def split(text: str, *, opened: bool) -> list[Part]:
    """The sections of reasoning and the answer in a whole text."""
    splitter = ReasoningSplitter(opened=opened)
    parts: list[Part] = []
    for piece in (*splitter.add(text), *splitter.finish()):
        last = parts[-1] if parts else None
        if last is not None and last.kind is piece.kind and not last.closed:
            parts[-1] = Part(last.kind, last.text + piece.text, piece.closed)
        else:
            parts.append(piece)
    return parts


@pytest.mark.parametrize(("text", "opened", "parts"), CASES)
def test_reasoning_and_answer_are_told_apart_wherever_the_text_is_cut(
    text: str, opened: bool, parts: list[Part]
) -> None:
    assert split(text, opened=opened) == parts
    for pieces in (list(text), *(cut(text, seed) for seed in range(5))):
        splitter = ReasoningSplitter(opened=opened)
        grown: dict[Kind, str] = {Kind.REASONING: "", Kind.ANSWER: ""}
        n_closed = 0
        for made in (*(splitter.add(piece) for piece in pieces), splitter.finish()):
            for part in made:
                grown[part.kind] += part.text
                n_closed += part.closed
        for kind, joined in grown.items():
            assert joined == "".join(part.text for part in parts if part.kind is kind)
        assert n_closed == sum(part.closed for part in parts)


def test_no_piece_of_a_tag_is_ever_shown() -> None:
    splitter = ReasoningSplitter()
    pieces = [part for character in "<think>a </think> b" for part in splitter.add(character)]
    assert pieces == [thought("a", closed=False), thought(""), said("b")]


async def rows(app: Stage, pilot: Pilot[None]) -> list[str]:
    await settle(pilot)
    return [row.rstrip() for row in shown(app) if row.strip()]


async def test_it_is_open_while_the_model_thinks_and_folds_when_the_answer_begins() -> None:
    app = Stage(text := AnswerText())
    async with app.run_test() as pilot:
        text.append("<think>")
        assert await rows(app, pilot) == []
        text.append("one")
        assert await rows(app, pilot) == ["▾ thinking … 1 word", "  one"]
        text.append("s **two")
        text.append("** three\n")
        assert await rows(app, pilot) == ["▾ thinking … 3 words", "  ones two three"]
        text.append("</think>\n\nan *answer*")
        assert await rows(app, pilot) == ["▸ thought for 3 words", "an answer"]
        text.finish()
        assert text.answer.source == "an *answer*"
        assert text.reasoning.source == "ones **two** three"
        text.reasoning.fold(False)
        assert await rows(app, pilot) == ["▾ thought for 3 words", "  ones two three", "an answer"]
        await pilot.click("_Title")
        assert await rows(app, pilot) == ["▸ thought for 3 words", "an answer"]


async def test_an_answer_without_reasoning_shows_no_trace_of_it() -> None:
    app = Stage(text := AnswerText())
    text.append("<think>\n\n</think>\n\n")
    text.append("answer")
    async with app.run_test() as pilot:
        text.finish()
        assert await rows(app, pilot) == ["answer"]


async def test_a_template_may_have_opened_the_section_and_a_stop_may_end_it() -> None:
    app = Stage(text := AnswerText(opened=True))
    async with app.run_test() as pilot:
        text.append("half a </th")
        text.finish()
        assert await rows(app, pilot) == ["▾ stopped thinking after 3 words", "  half a </th"]


async def test_two_sections_are_told_apart_and_count_together() -> None:
    app = Stage(text := AnswerText())
    async with app.run_test() as pilot:
        text.append("<think>one</think><think>two")
        assert await rows(app, pilot) == ["▸ thinking … 2 words"]
        text.append(" three</think>answer")
        text.finish()
        text.reasoning.fold(False)
        assert await rows(app, pilot) == ["▾ thought for 3 words", "  one", "  two three", "answer"]


@pytest.mark.parametrize("markup", MARKUP)
async def test_markup_is_text_in_reasoning_too(markup: str) -> None:
    app = Stage(text := AnswerText())
    async with app.run_test() as pilot:
        text.append(f"<think>think {markup}")
        assert f"  think {markup}".replace("\\[", "[") in await rows(app, pilot)
        await pilot.click("_Title")
        await pilot.click(AnswerText)
        assert app.is_running
