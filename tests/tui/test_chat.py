"""What is asked of the engine, and when."""

from __future__ import annotations

from collections.abc import Callable

from textual import events

from specdesk.core.events import HistoryCut, PromptRead
from specdesk.engine.client import Message
from specdesk.errors import ModelError
from specdesk.store.chat_store import ChatStore
from specdesk.tui.chat.state import State
from specdesk.tui.chat_options import ChatOptions
from specdesk.tui.widgets.answer import AnswerTurn
from specdesk.tui.widgets.turns import Notice
from tests.tui.driver import Chat
from tests.tui.samples import big_paste
from tests.tui.scripted import OPTIONS, prompt_read, step

Make = Callable[..., Chat]


async def test_the_whole_conversation_is_sent_with_its_options(make_chat: Make) -> None:
    options = ChatOptions(OPTIONS.sampling, lookahead=3, seed=7, system="be brief", max_tokens=9)
    chat = make_chat(options=options)
    async with chat.run() as see:
        for text in ("one", "two"):
            await see.ask(text)
            await see.answer(step([], f"re {text}"))
        messages, sent = see.engine.asked[-1]
        assert messages == (
            Message("system", "be brief"),
            Message("user", "one"),
            Message("assistant", "re one"),
            Message("user", "two"),
        )
        assert (sent.seed, sent.lookahead, sent.max_tokens, sent.sampling) == (7, 3, 9, OPTIONS.sampling)
        assert "seed 7" in see.shown()
        await see.pilot.press("ctrl+n")
        await see.pilot.pause()
        assert not see.screen.query(AnswerTurn)
        await see.ask("three")
        assert see.engine.asked[-1][0] == (Message("system", "be brief"), Message("user", "three"))


async def test_without_a_seed_each_answer_has_its_own_and_says_it(make_chat: Make) -> None:
    chat = make_chat(options=ChatOptions(OPTIONS.sampling, lookahead=4))
    async with chat.run() as see:
        for text in ("one", "two"):
            await see.ask(text)
            await see.answer(step([], "x"))
        seeds = [sent.seed for _, sent in see.engine.asked]
        assert seeds[0] != seeds[1]
        assert all(f"seed {seed}" in see.shown() for seed in seeds)
        assert "seed new each answer" in see.shown()


async def test_esc_stops_and_the_part_stays_in_the_conversation(make_chat: Make) -> None:
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("tell me")
        await see.stream(step(["Once", " upon"], " a"))
        await see.pilot.press("escape")
        await see.until_state(State.READY)
        assert see.engine.stopped
        assert "stopped" in see.shown()
        await see.ask("go on")
        assert see.engine.asked[-1][0] == (
            Message("user", "tell me"),
            Message("assistant", "Once upon a"),
            Message("user", "go on"),
        )
        await see.answer(step(["time"], "."))
        assert see.last.figures.answer.text == "time."
        assert not see.engine.overlapped


async def test_a_question_stopped_before_its_answer_leaves_the_conversation(make_chat: Make) -> None:
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("tell me")
        see.engine.feed(prompt_read(500))
        await see.pilot.press("escape")
        await see.until_state(State.READY)
        assert see.prompt.text == "tell me"
        assert "not part of the conversation" in see.shown()
        see.prompt.clear()
        await see.ask("other")
        assert see.engine.asked[-1][0] == (Message("user", "other"),)


async def test_a_question_asked_while_loading_is_sent_then(make_chat: Make) -> None:
    chat = make_chat(load_at_once=False)
    async with chat.run(ready=False) as see:
        await see.until_state(State.LOADING)
        assert "loading the models" in see.shown()
        see.prompt.insert("early")
        await see.pilot.press("enter")
        await see.until(lambda: "then it is sent" in see.shown(), "the promise")
        assert see.prompt.text == "early"
        chat.may_load.set()
        await see.until(lambda: len(see.engine.asked) == 1, "the question")
        assert see.engine.asked[0][0][-1].content == "early"
        assert see.prompt.text == ""


async def test_a_question_that_is_changed_waits_for_enter_again(make_chat: Make) -> None:
    chat = make_chat(load_at_once=False)
    async with chat.run(ready=False) as see:
        await see.until_state(State.LOADING)
        see.prompt.insert("early")
        await see.pilot.press("enter", "x", "backspace")
        assert "then it is sent" not in see.shown()
        chat.may_load.set()
        await see.until_state(State.READY)
        await see.pilot.pause()
        assert (see.prompt.text, see.engine.asked) == ("early", [])


async def test_a_question_stays_where_loading_fails(make_chat: Make) -> None:
    chat = make_chat(load_at_once=False, load_error=ModelError("no such file"))
    async with chat.run(ready=False) as see:
        await see.until_state(State.LOADING)
        see.prompt.insert("early")
        await see.pilot.press("enter")
        chat.may_load.set()
        await see.until_state(State.BROKEN)
        assert see.prompt.text == "early"
        assert "then it is sent" not in see.shown()


async def test_nothing_is_sent_while_answering(make_chat: Make) -> None:
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("one")
        see.prompt.insert("and")
        await see.pilot.press("enter")
        await see.until(lambda: "still answering" in see.shown(), "the refusal")
        assert see.prompt.text == "and"
        assert len(see.engine.asked) == 1


async def test_enter_sends_and_ctrl_j_breaks_the_line(make_chat: Make) -> None:
    chat = make_chat()
    async with chat.run() as see:
        await see.pilot.press("enter")
        await see.pilot.press("a", "ctrl+j", "b", "enter")
        await see.until(lambda: len(see.engine.asked) == 1, "the question")
        assert see.engine.asked[0][0][-1].content == "a\nb"


async def test_a_pasted_text_loses_what_drives_a_terminal(make_chat: Make) -> None:
    chat = make_chat()
    async with chat.run() as see:
        chat.app.post_message(events.Paste("one\r\ntwo\rthree\tx\x1b[31m"))
        await see.until(lambda: see.prompt.text != "", "the paste")
        assert see.prompt.text == "one\ntwo\nthree\tx[31m"
        assert see.engine.asked == []


async def test_keys_that_come_faster_than_the_screen_keep_their_order(make_chat: Make) -> None:
    """Bug: with Enter as a priority binding, letters typed just before it were lost."""
    chat = make_chat()
    async with chat.run() as see:
        for key, character in [*((c, c) for c in "one"), ("ctrl+j", None), *((c, c) for c in "two"), ("enter", "\r")]:
            chat.app.post_message(events.Key(key, character))
        for letter in "next":
            chat.app.post_message(events.Key(letter, letter))
        await see.until(lambda: len(see.engine.asked) == 1, "the question")
        await see.until(lambda: see.prompt.text == "next", "what was typed after it")
        assert see.engine.asked[0][0][-1].content == "one\ntwo"


async def test_what_the_context_could_not_hold_is_said_and_stays_in_the_chat(make_chat: Make, store: ChatStore) -> None:
    options = ChatOptions(OPTIONS.sampling, lookahead=4, seed=7, system="be brief")
    chat = make_chat(options=options)
    async with chat.run() as see:
        for text in ("one", "two", "three"):
            await see.ask(text)
            await see.answer(*([HistoryCut(2, 0, 900, 3000)] if text == "three" else []), step([], f"re {text}"))
        marker = "2 earlier messages not sent (about 900 tokens): the context holds 4,096, 3,000 are sent"
        assert marker in str(see.last.query_one(Notice).render())
        await see.ask("four")
        said = [message.content for message in see.engine.asked[-1][0]]
        # The engine has the whole conversation to choose from: what is left out depends on the question.
        assert said == ["be brief", "one", "re one", "two", "re two", "three", "re three", "four"]
    (kept,) = store.chats()
    assert [message.text for message in store.conversation(kept.id)][:6] == said[1:7]


async def test_what_of_the_prompt_was_known_already_is_shown(make_chat: Make) -> None:
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("go")
        see.engine.feed(PromptRead(n_read=300, n_total=1000, n_reused=300, elapsed_s=0.1))
        await see.until(lambda: "reading the prompt: 300 of 1000 tokens" in see.shown(), "how far it is")
        see.engine.feed(PromptRead(n_read=999, n_total=1000, n_reused=300, elapsed_s=0.5))
        await see.until(lambda: "read 1000 tokens, 300 of them known already" in see.shown(), "what was reused")


async def test_a_paste_that_no_context_holds_is_said_before_it_is_sent(make_chat: Make) -> None:
    chat = make_chat()
    async with chat.run() as see:
        chat.app.post_message(events.Paste(big_paste()))
        await see.until(lambda: "tokens; the context holds 4,096" in see.shown(), "the estimate")
        assert see.engine.asked == []
        assert see.prompt.text.count("\n") == 4999
