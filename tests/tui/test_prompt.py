"""The prompt by itself: keys in bursts, big pastes, earlier prompts, every character."""

from __future__ import annotations

from functools import partial

import pytest
from textual import events
from textual.pilot import Pilot

from specdesk.tui.widgets.prompt import Prompt
from specdesk.tui.written import cleaned
from tests.tui.driver import wait_until
from tests.tui.samples import CHARACTERS, CONTROLS, MARKUP, big_paste
from tests.tui.stage import Stage, burst, cells, cpu_s, settle, shown

WIDTHS = [40, 80]


async def paste(pilot: Pilot[None], prompt: Prompt, text: str) -> None:
    before = prompt.text
    pilot.app.post_message(events.Paste(text))
    await wait_until(pilot, lambda: prompt.text != before, "the paste")
    await pilot.pause()


def ready(*earlier: str) -> Prompt:
    prompt = Prompt()
    prompt.expect("Enter sends", None)
    prompt.recall_from(earlier)
    return prompt


@pytest.mark.parametrize("text", CHARACTERS)
@pytest.mark.parametrize("width", WIDTHS)
async def test_every_character_typed_or_pasted_is_kept_sent_and_shown(text: str, width: int) -> None:
    app = Stage(prompt := ready())
    async with app.run_test(size=(width, 20), message_hook=app.keep) as pilot:
        await burst(pilot, *text)
        assert prompt.text == text
        await paste(pilot, prompt, text)
        assert prompt.text == text * 2
        rows = [row for row in shown(app) if row.strip()]
        assert cells(app) == [width] * 20
        assert all(row[0] + row[-1] in {"╭╮", "││", "╰╯"} for row in rows)
        ink = "".join(row[1:-1] for row in rows[1:-1]).replace(" ", "")
        assert ink == prompt.text.replace(" ", "")
        await pilot.press("enter")
        assert [sent.text for sent in app.of(Prompt.Sent)] == [text * 2]


async def test_keys_of_all_kinds_keep_their_order_in_a_burst() -> None:
    """Bug: only Enter and letters did; Backspace fell behind the letters typed after it."""
    app = Stage(prompt := ready())
    async with app.run_test() as pilot:
        await burst(pilot, *"teh", "backspace", "backspace", *"he", "left", "X", "home", "Y", "ctrl+j", "Z")
        assert prompt.text == "Y\nZthXe"
        await burst(pilot, "ctrl+z", "A", "up", "B")
        assert prompt.text == "YB\nAthXe"


async def test_a_big_paste_is_quick_and_sends_nothing() -> None:
    text = big_paste()
    assert len(text.encode()) >= 200_000
    app = Stage(prompt := ready())
    prompt.capacity(4096)
    async with app.run_test(size=(100, 30), message_hook=app.keep) as pilot:
        took_s = await cpu_s(lambda: paste(pilot, prompt, text))
        assert prompt.text == cleaned(text)
        assert prompt.text.count("\n") == 4999
        assert not any(ord(c) < 0x20 for c in set(prompt.text) - {"\n", "\t"})
        assert app.of(Prompt.Sent) == []
        assert took_s < 1.0
        for key in ("a", "ctrl+j", "up", "left", "b", "backspace"):
            assert await cpu_s(partial(burst, pilot, key)) < 0.1
        title = prompt.border_title
        assert isinstance(title, str)
        assert title.startswith("about ")
        assert title.endswith("tokens; the context holds 4,096")
        assert any(title in row for row in shown(app))


async def test_paste_and_recall_can_be_undone_and_redone() -> None:
    app = Stage(prompt := ready("earlier"))
    async with app.run_test() as pilot:
        await burst(pilot, *"ab")
        await paste(pilot, prompt, "one\ntwo")
        await burst(pilot, "c", "up", "up")
        states = ["", "ab", "abone\ntwo", "abone\ntwoc", "earlier"]
        assert prompt.text == states[-1]
        for state in states[-2::-1]:
            await burst(pilot, "ctrl+z")
            assert prompt.text == state
        for state in states[1:]:
            await burst(pilot, "ctrl+y")
            assert prompt.text == state


async def test_up_and_down_walk_through_earlier_prompts_and_back_to_the_draft() -> None:
    app = Stage(prompt := ready("first", "second\nof two lines"))
    async with app.run_test(message_hook=app.keep) as pilot:
        await burst(pilot, *"draft", "up")
        assert prompt.text == "second\nof two lines"
        await burst(pilot, "!", "up")
        assert prompt.text == "first"
        await burst(pilot, "up")
        assert prompt.text == "first"
        await burst(pilot, "down")
        assert prompt.text == "second!\nof two lines"
        await burst(pilot, "down")
        assert prompt.text == "draft"
        await burst(pilot, "down", "up", "up", "enter")
        assert [sent.text for sent in app.of(Prompt.Sent)] == ["first"]
        assert prompt.text == ""
        await burst(pilot, "up", "up", "up")
        assert prompt.text == "first"


async def test_rows_of_a_long_line_come_before_earlier_prompts() -> None:
    app = Stage(prompt := ready("earlier"))
    async with app.run_test(size=(40, 20)) as pilot:
        await paste(pilot, prompt, "word " * 20)
        await burst(pilot, "up")
        assert prompt.text == "word " * 20
        await burst(pilot, "up", "up")
        assert prompt.text == "earlier"


async def test_the_cursor_stays_on_screen_when_the_width_changes() -> None:
    app = Stage(prompt := ready())
    async with app.run_test(size=(80, 20)) as pilot:
        await paste(pilot, prompt, "\n".join(f"{n} " + "word " * 12 for n in range(200)) + "END")
        for width in (40, 80):
            await pilot.resize_terminal(width, 20)
            await pilot.pause()
            assert any("END" in row for row in shown(app))


async def test_leaving_a_selection_is_no_step() -> None:
    app = Stage(prompt := ready("earlier"))
    async with app.run_test() as pilot:
        await burst(pilot, *"draft", "f7", "up")
        assert prompt.text == "draft"
        await burst(pilot, "up")
        assert prompt.text == "earlier"
        await burst(pilot, "f7", "down")
        assert prompt.text == "earlier"
        await burst(pilot, "down")
        assert prompt.text == "draft"


async def test_what_is_put_away_is_the_latest_earlier_prompt() -> None:
    app = Stage(prompt := ready("earlier"))
    async with app.run_test() as pilot:
        await burst(pilot, *"draft")
        prompt.put_away()
        assert prompt.text == ""
        prompt.put_away()
        await burst(pilot, "up")
        assert prompt.text == "draft"
        await burst(pilot, "up")
        assert prompt.text == "earlier"


async def test_a_word_beside_the_prompt_makes_room_for_the_next_hint() -> None:
    app = Stage(prompt := ready())
    async with app.run_test() as pilot:
        prompt.say("said", for_s=60)
        await pilot.pause()
        assert any("said" in row for row in shown(app))
        prompt.expect("hint", None)
        assert prompt.border_subtitle == "hint"
        prompt.say("said again", for_s=0.001)
        await wait_until(pilot, lambda: prompt.border_subtitle == "hint", "the hint again")


@pytest.mark.parametrize("width", WIDTHS)
async def test_the_estimate_fits_the_border_and_goes_with_the_text(width: int) -> None:
    app = Stage(prompt := ready())
    prompt.capacity(10, factor=0.5)
    async with app.run_test(size=(width, 20)) as pilot:
        await paste(pilot, prompt, "1" * 21)
        notice = "about 11 of 10 tokens" if width == 40 else "about 11 tokens; the context holds 10"
        assert notice in shown(app)[0]
        await burst(pilot, "backspace")
        assert "tokens" not in shown(app)[0]
        prompt.capacity(9, factor=0.5)
        await pilot.pause()
        assert "10" in shown(app)[0]
        prompt.capacity(None)
        await pilot.pause()
        assert "tokens" not in shown(app)[0]


@pytest.mark.parametrize("text", MARKUP)
async def test_markup_is_text_in_the_prompt_and_among_earlier_prompts(text: str) -> None:
    app = Stage(prompt := ready(text))
    async with app.run_test() as pilot:
        await burst(pilot, "up")
        assert prompt.text == text
        assert any(text in row for row in shown(app))
        prompt.say(f"said {text}\x1b", for_s=60)
        await settle(pilot)
        assert f"said {text}␛" in "".join(shown(app))
        await pilot.click(Prompt)
        assert app.is_running


async def test_what_was_copied_in_the_program_is_cleaned_when_pasted() -> None:
    app = Stage(prompt := ready())
    async with app.run_test() as pilot:
        app.copy_to_clipboard(CONTROLS)
        await burst(pilot, "ctrl+v")
        assert prompt.text == cleaned(CONTROLS) == "a[2Jbc\ndefg"


@pytest.mark.parametrize("width", range(1, 8))
async def test_a_terminal_without_room_is_waited_out(width: int) -> None:
    """Bug: an empty prompt on 4 columns or fewer, as when a pane is dragged shut, ended the chat."""
    prompt = ready()
    async with Stage(prompt).run_test(size=(width, 5)) as pilot:
        await pilot.pause()
        await pilot.resize_terminal(40, 5)
        await settle(pilot)
        assert any("Ask something" in row for row in shown(pilot.app))
        await pilot.resize_terminal(width, 5)
        await burst(pilot, *"moon")
        assert prompt.text == "moon"
