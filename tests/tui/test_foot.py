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


async def test_on_a_message_its_own_keys_come_first_and_only_those_that_do_something(make_chat: Make) -> None:
    """Bug: Delete and U were never told, and K and the arrows where there was no code and no token."""
    async with make_chat().run(size=(140, 40)) as see:
        await see.ask("one")
        await see.answer(step([], "1\n\n    code\n"))
        await see.ask("two")
        await see.answer(step([], "2"))
        question, coded, _, plain = see.transcript.turns
        for turn, keys in (
            (question, "c Copy s Save e Edit del Delete esc Back"),
            (coded, "c Copy s Save k Copy code r Again ←→ Token del Delete esc Back"),
            (plain, "c Copy s Save r Again ←→ Token del Delete esc Back"),
        ):
            turn.focus()
            await see.until(lambda keys=keys: " ".join(foot(see).split()).startswith(keys), keys)  # type: ignore[misc]
        await see.pilot.press("delete")
        await see.until(lambda: len(see.transcript.turns) == 2, "the deletion")
        see.transcript.turns[-1].focus()
        await see.until(lambda: "del Delete u Undo esc Back" in " ".join(foot(see).split()), "the key that undoes it")
        await see.pilot.press("u")
        await see.until(lambda: len(see.transcript.turns) == 4, "what was deleted")
        see.transcript.turns[-1].focus()
        await see.until(lambda: "del Delete esc Back" in " ".join(foot(see).split()), "nothing to undo")
