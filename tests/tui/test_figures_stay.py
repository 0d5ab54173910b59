"""What the panel tells is of what stands on the screen, whether it was written now or kept."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from textual.widgets import Static

from specdesk.store.chat_store import ChatStore
from specdesk.tui.chat.state import State
from specdesk.tui.widgets.chats import Chats
from specdesk.tui.widgets.speed import SpeedPanel
from specdesk.tui.widgets.turn import Turn
from tests.tui.driver import Chat, Driver
from tests.tui.scripted import prompt_read, step

Make = Callable[..., Chat]


def panel(see: Driver) -> str:
    return str(see.screen.query_one("#figures", Static).content)


def telling(see: Driver) -> bool:
    return see.screen.query_one(SpeedPanel).has_class("-telling")


async def chosen(see: Driver, turn: Turn) -> None:
    turn.focus()
    await see.pilot.pause()


async def test_a_chat_that_is_opened_again_has_the_figures_of_its_last_answer(
    make_chat: Make, store: ChatStore
) -> None:
    """Bug: the panel had none, beside an answer that told some."""
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("one")
        await see.answer(step(["a", "b"], "c"), step(["d"], "e", rejected=["x"], index=1))
        known = panel(see)
        assert "accepted 3 of 4" in known
        kept = store.chats()[0].id
        await see.pilot.press("ctrl+n")
        await see.pilot.pause()
        assert "accepted -" in panel(see)
        see.screen.open_chat(Chats.Opened(see.screen.query_one(Chats), kept, None))
        await see.pilot.pause()
        assert panel(see) == known


async def test_deleted_and_back_again_the_panel_tells_of_what_is_there(make_chat: Make) -> None:
    """Bug: it told of a token that was gone, and had no figures once its answer was back."""
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("one")
        await see.answer(step(["a", "b"], "c"))
        known = panel(see)
        await chosen(see, see.last)
        await see.pilot.press("right")
        await see.until(lambda: telling(see), "a token")
        await see.pilot.press("delete")
        await see.until(lambda: not see.transcript.turns, "that it is gone")
        await see.pilot.pause()
        assert not telling(see)
        assert "accepted -" in panel(see)
        assert "F9 brings it back" in see.shown()
        await see.pilot.press("f9")
        await see.until(lambda: len(see.transcript.turns) == 2, "that it is back")
        await see.pilot.pause()
        assert panel(see) == known


@pytest.mark.parametrize("kept", [False, True])
async def test_an_answer_that_is_gone_on_with_has_the_figures_of_all_of_it(
    make_chat: Make, store: ChatStore, kept: bool
) -> None:
    """Bug: its last part took the place of the whole."""
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("one")
        see.engine.feed(prompt_read(), step(["a", "b"], "c"))
        await see.until(lambda: see.last.figures.tally.target_passes == 1, "the step")
        await see.pilot.press("escape")
        await see.until_state(State.READY)
        if kept:
            see.screen.open_chat(Chats.Opened(see.screen.query_one(Chats), store.chats()[0].id, None))
            await see.pilot.pause()
        await chosen(see, see.last)
        await see.pilot.press("g")
        await see.until(lambda: len(see.engine.asked) == 2, "the rest")
        await see.answer(step(["d"], "e"))
        assert "accepted 3 of 3" in panel(see)
        assert "5 tokens" in see.shown()
        assert "2.50 per pass" in see.shown()
        (chat_id,) = [each.id for each in store.chats()]
        stats = store.conversation(chat_id)[-1].stats
        assert stats is not None
        assert stats["generated_tokens"] == 5


async def test_a_question_without_an_answer_goes_from_the_screen_when_it_is_asked_again(make_chat: Make) -> None:
    """Bug: it stood there twice, the second time as ‹2/2›."""
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("one")
        see.engine.feed(prompt_read())
        await see.pilot.press("escape")
        await see.until(lambda: "not part of the conversation" in see.shown(), "that it is not")
        await see.until_state(State.READY)
        assert see.prompt.text == "one"
        await see.ask("!")
        assert "not part of the conversation" not in see.shown()
        await see.answer(step([], "1"))
        assert [turn.text for turn in see.transcript.turns] == ["one!", "1"]


async def test_why_nothing_is_drafted_is_told_once(make_chat: Make) -> None:
    """Bug: the reason stood in the panel twice, the second time cut short."""
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("one")
        await see.answer(step([], "a"), step([], "b", index=1))
        assert "no draft would pay" in str(see.screen.query_one("#verdict", Static).content)
        assert "no draft would pay" not in panel(see)
