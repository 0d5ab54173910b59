"""The Markdown view on a screen: what it costs while an answer streams in, and that it only shows."""

from __future__ import annotations

import asyncio
import time

import pytest
from textual.containers import VerticalScroll
from textual.pilot import Pilot

from specdesk.tui.widgets.markdown_view import MarkdownView
from specdesk.tui.widgets.prompt import Prompt
from tests.tui.documents import BLOCKS
from tests.tui.driver import wait_until
from tests.tui.samples import CHARACTERS, CONTROLS, MARKUP
from tests.tui.stage import Stage, burst, cells, cpu_s, settle, shown

WIDTHS = [40, 80]
PER_REPAINT = 13
"""Tokens between two repaints: 200 tokens a second, 15 repaints a second."""


def rows(app: Stage) -> list[str]:
    return [row.rstrip() for row in shown(app)]


def styles(app: Stage, view: MarkdownView) -> list[str]:
    return [
        str(segment.style) for y in range(view.size.height) for segment in view.render_line(y) if segment.text.strip()
    ]


def answer() -> list[str]:
    """8,000 tokens: prose and lists, 1,000 lines of code, prose and lists again."""
    prose = "".join(
        f"Paragraph {n} with **bold** and `code` and some more words to fill it up.\n\n- item {n}\n- another\n\n"
        for n in range(60)
    )
    code = "".join(f"def f{n}(x):  # {n}\n" for n in range(1000))
    text = f"{prose}```python\n{code}```\n\n{prose}"
    size = len(text) // 8000
    return [text[at : at + size] for at in range(0, size * 8000, size)]


async def stream(
    pilot: Pilot[None], view: MarkdownView, tokens: list[str], n_at_once: int
) -> tuple[float, list[float]]:
    """CPU seconds that the tokens took, and that each key took from press to screen."""
    begin = time.thread_time()
    keys_s: list[float] = []
    for number, at in enumerate(range(0, len(tokens), n_at_once)):
        view.append("".join(tokens[at : at + n_at_once]))
        await settle(pilot)
        if number % 5 == 0:
            keys_s.append(await cpu_s(lambda: burst(pilot, "x")))
    return time.thread_time() - begin, keys_s


async def test_the_cost_of_a_token_does_not_grow_and_keys_are_quick() -> None:
    app = Stage(scroll := VerticalScroll(view := MarkdownView()), prompt := Prompt())
    async with app.run_test(size=(100, 40)) as pilot:
        scroll.anchor()
        prompt.focus()
        tokens = answer()
        first_s, keys_s = await stream(pilot, view, tokens[:1000], PER_REPAINT)
        _, more_s = await stream(pilot, view, tokens[1000:7000], 4 * PER_REPAINT)
        last_s, last_keys_s = await stream(pilot, view, tokens[7000:], PER_REPAINT)
        view.finish()
        await pilot.pause()
        keys_s += [*more_s, *last_keys_s]
        assert view.source == "".join(tokens)
        assert prompt.text == "x" * len(keys_s)
        assert last_s <= 2 * first_s
        assert sorted(keys_s)[int(len(keys_s) * 0.95)] < 0.1


@pytest.mark.parametrize("text", MARKUP)
async def test_markup_and_links_are_shown_and_not_obeyed(text: str) -> None:
    app = Stage(view := MarkdownView(f"say {text}\n\n| {text} |\n|---|\n| {text} |\n\n[go]({text})\n"))
    async with app.run_test() as pilot:
        literal = text.replace("\\[", "[")
        assert f"say {literal}" in rows(app)
        for y in range(view.size.height):
            await pilot.hover(MarkdownView, offset=(5, y))
            await pilot.click(MarkdownView, offset=(5, y))
        assert app.is_running
        assert not any("meta" in style or "link" in style for style in styles(app, view))


async def test_control_characters_reach_no_terminal_and_stay_in_the_source() -> None:
    app = Stage(view := MarkdownView(CONTROLS))
    async with app.run_test():
        assert not [c for c in "".join(shown(app)) if ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0]
        assert view.source == CONTROLS


@pytest.mark.parametrize("width", WIDTHS)
async def test_every_character_is_shown_and_no_row_is_shifted(width: int) -> None:
    app = Stage(view := MarkdownView())
    async with app.run_test(size=(width, 60)) as pilot:
        for character in "\n\n".join(CHARACTERS):
            view.append(character)
        view.finish()
        await pilot.pause()
        assert [row for row in rows(app) if row] == [text.rstrip() for text in CHARACTERS]
        assert cells(app) == [width] * 60


async def test_it_wraps_anew_when_the_width_changes() -> None:
    app = Stage(view := MarkdownView("\n".join(BLOCKS)))
    async with app.run_test(size=(40, 100)) as pilot:
        narrow = rows(app)
        await pilot.resize_terminal(80, 100)
        await pilot.pause()
        assert len([row for row in rows(app) if row]) < len([row for row in narrow if row])
        await pilot.resize_terminal(40, 100)
        await pilot.pause()
        assert rows(app) == narrow
        assert view.size.height == len(narrow) - narrow[::-1].index(next(row for row in narrow[::-1] if row))


async def test_what_is_added_before_it_is_on_screen_is_shown() -> None:
    view = MarkdownView()
    view.append("one\n\n```py\nx = 1\n")
    app = Stage(view)
    async with app.run_test() as pilot:
        assert rows(app)[:4] == ["one", "", "╭ py", "│ x = 1"]
        view.append("y = 2\n```\n**two**")
        await pilot.pause()
        assert rows(app)[4:7] == ["│ y = 2", "", "two"]


async def test_code_gets_its_colours_and_those_of_a_new_theme() -> None:
    app = Stage(view := MarkdownView("```python\nreturn 1\n```"))
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: any("bright_blue" in style for style in styles(app, view)), "colours")
        app.theme = "textual-light"
        await wait_until(pilot, lambda: any(style.startswith("blue") for style in styles(app, view)), "other colours")
        assert not any("bright" in style for style in styles(app, view))


async def test_colouring_long_code_leaves_room_for_keys() -> None:
    app = Stage(view := MarkdownView())
    async with app.run_test() as pilot:
        await pilot.pause()
        view.append("```python\n" + "def f(x): return [x, 'x']\n" * 4000 + "```\n")
        n_turns = 0
        while not n_turns or not all(worker.is_finished for worker in app.workers):
            await asyncio.sleep(0)
            n_turns += 1
        assert n_turns >= 4000 / 40
        assert any("yellow" in style for style in styles(app, view)[-5:])


async def test_without_colour_the_other_cues_remain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = Stage(view := MarkdownView("# head\n**bold** `code` [link](x)\n```python\nreturn 1\n```"))
    async with app.run_test() as pilot:
        await pilot.pause()
        found = styles(app, view)
        assert not any("cyan" in style or "blue" in style for style in found)
        assert any("bold" in style for style in found)
        assert any("underline" in style for style in found)
        assert "│ return 1" in rows(app)
