"""What the foot of the chat says that keys do now."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from textual.events import AppBlur

from tests.tui.driver import Chat, Driver
from tests.tui.scripted import step

Make = Callable[..., Chat]


def foot(see: Driver) -> str:
    return see.shown().splitlines()[-1]


@pytest.mark.parametrize("away", [False, True])
async def test_esc_is_told_where_it_stops_an_answer_and_no_longer(make_chat: Make, away: bool) -> None:
    """Bug: it stood greyed out below a chat at rest, and as if it did something if the answer had ended in a terminal
    that did not have the focus."""
    async with make_chat().run() as see:
        assert "Stop" not in foot(see)
        await see.ask("one")
        await see.until(lambda: "esc Stop" in foot(see), "the key while it answers")
        await see.answer(step([], "1"))
        await see.until(lambda: "Stop" not in foot(see), "no key")
        await see.pilot.press("ctrl+r")
        await see.until(lambda: len(see.engine.asked) == 2, "another answer")
        await see.until(lambda: "esc Stop" in foot(see), "the key while it answers again")
        if away:
            see.chat.app.post_message(AppBlur())
            await see.pilot.pause()
        await see.answer(step([], "2"))
        await see.until(lambda: "Stop" not in foot(see), "no key after the other answer")


async def test_esc_leaves_a_question_that_is_edited_and_says_so(make_chat: Make) -> None:
    async with make_chat().run() as see:
        await see.ask("one")
        await see.answer(step([], "1"))
        see.transcript.turns[0].focus()
        await see.pilot.press("e")
        await see.until(lambda: "esc Leave" in foot(see), "the key")
        assert "Stop" not in foot(see)
        await see.pilot.press("escape")
        await see.until(lambda: "Leave" not in foot(see), "no key")
        assert not see.prompt.text
