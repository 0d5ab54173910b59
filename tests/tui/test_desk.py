"""What lies on the desk: branches, the end of a conversation, figures, views."""

from __future__ import annotations

from collections.abc import Callable

from textual.widgets import OptionList

from specdesk.tui.chat.state import State
from specdesk.tui.view import View
from specdesk.tui.widgets.chats import Chats
from specdesk.tui.widgets.turn import Act
from tests.tui.driver import Chat, Driver
from tests.tui.scripted import END, step

Make = Callable[..., Chat]
LONG = "\n".join(f"line {number}" for number in range(80))


async def say(see: Driver, question: str, answer: str) -> None:
    await see.ask(question)
    await see.answer(step([answer[:1]], answer[1:]))


async def branches(see: Driver, *answers: str) -> None:
    """One question with these answers."""
    await say(see, "one", answers[0])
    for answer in answers[1:]:
        n_asked = len(see.engine.asked)
        await see.pilot.press("ctrl+r")
        await see.until(lambda n=n_asked: len(see.engine.asked) > n, "again")  # type: ignore[misc]
        await see.answer(step([], answer))


async def test_branches_go_round_and_keep_the_keys(make_chat: Make) -> None:
    async with make_chat().run() as see:
        await branches(see, "first", "second", "third")
        see.last.focus()
        await see.pilot.pause()
        for key, answer in (
            ("left_square_bracket", "second"),
            ("left_square_bracket", "first"),
            ("left_square_bracket", "third"),
            ("right_square_bracket", "first"),
            ("right_square_bracket", "second"),
        ):
            await see.pilot.press(key)
            await see.until(lambda answer=answer: see.texts == ["one", answer], answer)  # type: ignore[misc]
            await see.until(lambda: see.last.has_focus, "the keys on it")


async def test_branches_stay_while_it_answers(make_chat: Make) -> None:
    """Bug: nothing was said either."""
    async with make_chat().run() as see:
        await branches(see, "first", "second")
        await see.ask("two")
        see.transcript.turns[1].focus()
        await see.pilot.pause()
        await see.pilot.press("left_square_bracket")
        await see.until(lambda: "not now: " in see.shown(), "the refusal")
        await see.answer(step([], "2"))
        assert see.texts == ["one", "second", "two", "2"]


async def test_an_answer_that_is_gone_on_with_is_under_way(make_chat: Make) -> None:
    async with make_chat().run() as see:
        await see.ask("one")
        await see.stream(step(["1"], " 2"))
        await see.pilot.press("escape")
        await see.until_state(State.READY)
        see.last.focus()
        await see.pilot.pause()
        assert see.last.can(Act.AGAIN)
        await see.pilot.press("g")
        await see.until(lambda: len(see.engine.asked) == 2, "the rest")
        await see.until(lambda: "reading the prompt" in see.shown(), "that it is under way")
        assert not see.last.can(Act.AGAIN)
        see.engine.feed(END)
        await see.until_state(State.READY)
        assert see.last.can(Act.AGAIN)


async def test_what_is_asked_and_what_is_opened_is_seen_at_its_end(make_chat: Make) -> None:
    async with make_chat().run(size=(130, 30)) as see:
        await say(see, "one", LONG)
        await see.pilot.press("ctrl+n")
        await say(see, "two", LONG)
        await see.pilot.press("pageup", "pageup")
        await see.until(lambda: "line 79" not in see.shown(), "above")
        await see.ask("the next question")
        await see.until(lambda: "▌  the next question" in see.shown() or "  the next question" in see.shown(), "it")
        await see.answer(step([], "2"))
        await see.pilot.press("pageup", "pageup")
        await see.until(lambda: "the next question" not in see.shown(), "above")
        see.screen.query_one(Chats).query_one(OptionList).focus()
        await see.pilot.press("down", "enter")
        await see.until(lambda: see.texts == ["one", LONG], "the other chat")
        await see.until(lambda: "line 79" in see.shown(), "its end")


async def test_the_figures_of_an_answer_go_with_it(make_chat: Make) -> None:
    async with make_chat().run() as see:
        await say(see, "one", "12")
        await see.until(lambda: "accepted 1 of 1" in see.shown(), "figures")
        await see.pilot.press("ctrl+n")
        await see.until(lambda: "accepted 1 of 1" not in see.shown(), "no figures")


async def test_answers_to_come_are_shown_as_the_others(make_chat: Make) -> None:
    async with make_chat().run(view=View.LIVE) as see:
        await say(see, "one", "1")
        await see.pilot.press("ctrl+t")
        await say(see, "two", "2")
        assert [answer.shows_tokens for answer in see.transcript.answers] == [True, True]
