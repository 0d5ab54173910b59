"""Chats that are kept: what is written is there after a restart, with its branches, and can be found."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from textual.widgets import Input, OptionList

from specdesk.core.events import Finished, StopReason
from specdesk.engine.client import Message
from specdesk.errors import GenerationError, StorageError
from specdesk.store.chat_store import ChatStore
from specdesk.store.values import State as Kept
from specdesk.tokenview import Kind
from specdesk.tui import conversation
from specdesk.tui.chat import answering
from specdesk.tui.chat.state import State
from specdesk.tui.view import View
from specdesk.tui.widgets.answer import AnswerTurn
from specdesk.tui.widgets.chats import Chats
from specdesk.tui.widgets.turn import Turn
from specdesk.tui.widgets.turns import UserTurn
from tests.tui.driver import Chat, Driver
from tests.tui.full_disk import full
from tests.tui.scripted import END, prompt_read, step

Make = Callable[..., Chat]


def begins(see: Driver, text: str) -> bool:
    return see.texts[:1] == [text]


def says(see: Driver, text: str) -> bool:
    return text in see.shown()


def counts(listed: OptionList, n: int) -> bool:
    return listed.option_count == n


async def choose(see: Driver, turn: Turn) -> None:
    turn.focus()
    await see.pilot.pause()


async def test_a_chat_is_there_after_a_restart(make_chat: Make, store: ChatStore) -> None:
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("Write a [/parser]\nplease")
        await see.answer(step(["def", " f"], "()", rejected=["[x]"], ignored=["y"]), step([], ": pass"))
        await see.ask("And?")
        await see.answer(step([], "no"))
    (kept,) = store.chats()
    assert kept.title == "Write a [/parser]"
    said = store.conversation(kept.id)
    assert [message.text for message in said] == ["Write a [/parser]\nplease", "def f(): pass", "And?", "no"]
    assert [message.state for message in said] == [Kept.COMPLETE] * 4
    assert said[1].settings is not None
    assert (said[1].settings["seed"], said[1].settings["temperature"]) == (42, 0.7)
    assert said[1].models is not None
    assert said[1].models["target"]["file"] == "big.gguf"
    assert said[1].stats is not None
    assert (said[1].stats["drafted"], said[1].stats["accepted"], said[1].stats["generated_tokens"]) == (4, 2, 4)
    again = make_chat()
    async with again.run() as see:
        assert "Write a [/parser]" in see.shown()
        await see.pilot.press("ctrl+b", "ctrl+b")
        await see.pilot.press("enter")
        await see.until(lambda: len(see.transcript.turns) == 4, "the chat")
        assert see.texts == ["Write a [/parser]\nplease", "def f(): pass", "And?", "no"]
        first = see.screen.query(AnswerTurn).first()
        await see.pilot.pause()
        assert [(span.text, span.kind) for span in first.tokens.spans] == [
            ("def", Kind.ACCEPTED),
            (" f", Kind.ACCEPTED),
            ("[x]", Kind.REJECTED),
            ("y", Kind.IGNORED),
            ("()", Kind.REPLACEMENT),
            (": pass", Kind.PLAIN),
        ]
        await see.ask("more")
        assert [message.content for message in see.engine.asked[-1][0]] == [*see.texts[:4], "more"]


async def test_an_edited_question_is_a_branch(make_chat: Make, store: ChatStore) -> None:
    chat = make_chat()
    async with chat.run() as see:
        for question, answer in (("one", "1"), ("two", "2")):
            await see.ask(question)
            await see.answer(step([], answer))
        await choose(see, see.screen.query(UserTurn).last())
        await see.pilot.press("e")
        assert see.prompt.text == "two"
        see.prompt.clear()
        await see.ask("other")
        assert [message.content for message in see.engine.asked[-1][0]] == ["one", "1", "other"]
        await see.answer(step([], "3"))
        assert see.texts == ["one", "1", "other", "3"]
        assert "‹2/2›" in see.shown()
        await choose(see, see.screen.query(UserTurn).last())
        await see.pilot.press("left_square_bracket")
        await see.until(lambda: see.texts == ["one", "1", "two", "2"], "the first branch")
        await see.ask("three")
        assert [message.content for message in see.engine.asked[-1][0]] == ["one", "1", "two", "2", "three"]
    (kept,) = store.chats()
    assert len(store.messages(kept.id)) == 8


@pytest.mark.parametrize("at", range(4))
async def test_a_message_is_deleted_with_what_follows_and_comes_back(
    make_chat: Make, store: ChatStore, at: int
) -> None:
    chat = make_chat()
    said = ["one", "1", "two", "2"]
    async with chat.run() as see:
        for question, answer in zip(said[::2], said[1::2], strict=True):
            await see.ask(question)
            await see.answer(step([], answer))
        kept = said[: at - at % 2]
        await choose(see, see.transcript.turns[at])
        await see.pilot.press("delete")
        await see.until(lambda: see.texts == kept, "what is left")
        assert "F9 brings it back" in see.shown()
        assert see.prompt.has_focus
        await see.pilot.press("ctrl+b", "ctrl+b", "u")
        await see.until(lambda: see.texts == said, "all of it")
        await choose(see, see.transcript.turns[at])
        await see.pilot.press("delete")
        await see.until(lambda: see.texts == kept, "what is left")
        await see.ask("three")
        assert [message.content for message in see.engine.asked[-1][0]] == [*kept, "three"]
        await see.answer(step([], "3"))
        await see.pilot.press("ctrl+b", "ctrl+b", "u")
        await see.until(lambda: see.texts == said, "what was deleted")
    (only,) = store.chats()
    assert len(store.messages(only.id)) == 6


async def test_nothing_is_deleted_while_it_answers(make_chat: Make) -> None:
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("one")
        await see.answer(step([], "1"))
        await see.ask("two")
        await choose(see, see.transcript.turns[0])
        await see.pilot.press("delete")
        await see.until(lambda: "not now: still answering" in see.shown(), "the refusal")
        await see.answer(step([], "2"))
        assert see.texts == ["one", "1", "two", "2"]
        await choose(see, see.transcript.turns[0])
        await see.pilot.press("f9")
        await see.until(lambda: "nothing was deleted here" in see.shown(), "that there is nothing")


async def test_escape_leaves_a_question_that_is_edited(make_chat: Make) -> None:
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("one")
        await see.answer(step([], "1"))
        await choose(see, see.screen.query(UserTurn).last())
        await see.pilot.press("e")
        assert "editing" in see.shown()
        await see.pilot.press("escape")
        await see.pilot.pause()
        assert see.prompt.text == ""
        await see.ask("two")
        assert [message.content for message in see.engine.asked[-1][0]] == ["one", "1", "two"]


@pytest.mark.parametrize("key", ["r", "left_square_bracket"])
async def test_an_edit_ends_with_the_place_of_its_question(make_chat: Make, key: str) -> None:
    """Bug: it was looked for where it no longer stood, which ended the chat."""
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("one")
        await see.answer(step([], "0"))
        await see.pilot.press("ctrl+r")
        await see.until(lambda: len(see.engine.asked) == 2, "again")
        await see.answer(step([], "1"))
        await see.ask("two")
        await see.answer(step([], "2"))
        await choose(see, see.transcript.turns[2])
        await see.pilot.press("e")
        assert "editing" in see.shown()
        await choose(see, see.transcript.turns[1])
        await see.pilot.press(key)
        if key == "r":
            await see.until(lambda: len(see.engine.asked) == 4, "again")
            await see.answer(step([], "1"))
        else:
            await see.until(lambda: see.texts == ["one", "0"], "the other branch")
        assert "editing" not in see.shown()
        assert see.prompt.text == "two"
        await see.ask("!")
        assert [message.content for message in see.engine.asked[-1][0]][-1] == "two!"
        assert len(see.engine.asked[-1][0]) == 3


async def test_an_edit_is_told_as_long_as_it_lasts(make_chat: Make) -> None:
    """Bug: models that were loaded meanwhile took the hint away, and Enter asked in the place of another question."""
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("one")
        await see.answer(step([], "1"))
        await choose(see, see.transcript.turns[0])
        await see.pilot.press("e")
        see.screen.load_models()
        await see.until(lambda: len(chat.loaded_with) == 2, "the models")
        await see.until(lambda: "editing" in see.shown(), "the hint")
        await see.pilot.press("escape")
        await see.until_state(State.READY)


@pytest.mark.parametrize("other", ["new", "kept"])
async def test_an_edit_ends_with_its_chat(make_chat: Make, store: ChatStore, other: str) -> None:
    """Bug: another chat told that a question was edited which it did not have."""
    kept = store.create_chat("elsewhere")
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("one")
        await see.answer(step([], "1"))
        await choose(see, see.transcript.turns[0])
        await see.pilot.press("e")
        assert "editing" in see.shown()
        if other == "new":
            await see.pilot.press("ctrl+n")
        else:
            see.screen.open_chat(Chats.Opened(see.screen.query_one(Chats), kept.id, None))
        await see.pilot.pause()
        assert "editing" not in see.shown()
        await see.ask("!")
        assert [message.content for message in see.engine.asked[-1][0]] == ["one!"]


async def test_an_edit_goes_on_where_the_store_refuses_it(
    make_chat: Make, store: ChatStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bug: the same question sent once more was asked behind the one it was to replace."""
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("one")
        await see.answer(step([], "1"))
        await choose(see, see.transcript.turns[0])
        await see.pilot.press("e", "!")

        def refuse(*_args: object, **_more: object) -> None:
            raise StorageError("chats.db: the disk is full", "make room")

        with monkeypatch.context() as patched:
            patched.setattr(store, "add_question", refuse)
            await see.pilot.press("enter")
            await see.until(lambda: "the disk is full" in see.shown(), "the refusal")
        assert see.prompt.text == "one!"
        assert "editing" in see.shown()
        await see.ask("")
        assert [message.content for message in see.engine.asked[-1][0]] == ["one!"]


async def test_what_was_written_is_kept_when_a_question_is_edited(make_chat: Make) -> None:
    """Bug: the question took its place, and it was gone."""
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("one")
        await see.answer(step([], "1"))
        await see.pilot.press(*"half")
        await choose(see, see.transcript.turns[0])
        await see.pilot.press("e")
        assert see.prompt.text == "one"
        await see.pilot.press("escape", "up")
        assert see.prompt.text == "half"


async def test_an_answer_again_is_another_answer(make_chat: Make, store: ChatStore) -> None:
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("one")
        await see.answer(step([], "first"))
        await see.pilot.press("ctrl+r")
        await see.until(lambda: len(see.engine.asked) == 2, "the second")
        assert see.engine.asked[-1][0] == (Message("user", "one"),)
        assert [options.answer for _, options in see.engine.asked] == [0, 1]
        await see.answer(step([], "second"))
        assert see.texts == ["one", "second"]
        await choose(see, see.last)
        await see.pilot.press("left_square_bracket")
        await see.until(lambda: see.texts == ["one", "first"], "the first answer")


async def test_a_stopped_answer_is_gone_on_with(make_chat: Make, store: ChatStore) -> None:
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("count")
        await see.stream(step(["1", " 2"], " 3"))
        await see.pilot.press("escape")
        await see.until_state(State.READY)
        (kept,) = store.chats()
        assert store.conversation(kept.id)[-1].state is Kept.STOPPED
        await choose(see, see.last)
        await see.pilot.press("g")
        await see.until(lambda: len(see.engine.asked) == 2, "the rest")
        assert see.engine.asked[-1][0] == (Message("user", "count"), Message("assistant", "1 2 3"))
        await see.answer(step([" 4"], " 5"))
        assert see.texts == ["count", "1 2 3 4 5"]
        assert "".join(text for text, _ in see.labels()) == "1 2 3 4 5"
    said = store.conversation(kept.id)[-1]
    assert (said.text, said.state) == ("1 2 3 4 5", Kept.COMPLETE)


async def test_what_came_is_kept_when_the_chat_is_left(make_chat: Make, store: ChatStore) -> None:
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("count")
        await see.stream(step(["1", " 2"], " 3"))
        see.engine.feed(step([], " 4"))
        await see.pilot.press("ctrl+q")
    (kept,) = store.chats()
    said = store.conversation(kept.id)[-1]
    assert said.state is Kept.STOPPED
    assert said.text.startswith("1 2 3")


async def test_a_failed_answer_keeps_what_it_had(make_chat: Make, store: ChatStore) -> None:
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("count")
        await see.stream(step(["1", " 2"], " 3"))
        see.engine.feed(GenerationError("llama.cpp failed"))
        await see.until_state(State.READY)
    (kept,) = store.chats()
    said = store.conversation(kept.id)[-1]
    assert (said.text, said.state, said.error) == ("1 2 3", Kept.FAILED, "llama.cpp failed")


async def test_a_question_without_an_answer_is_kept_beside_the_next(make_chat: Make, store: ChatStore) -> None:
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("first")
        see.engine.feed(prompt_read(500))
        await see.pilot.press("escape")
        await see.until_state(State.READY)
        see.prompt.clear()
        await see.ask("second")
        await see.answer(step([], "yes"))
    (kept,) = store.chats()
    assert [message.text for message in store.conversation(kept.id)] == ["second", "yes"]
    assert [message.text for message in store.messages(kept.id)] == ["first", "", "second", "yes"]


async def test_a_long_answer_at_its_limit_can_be_gone_on_with(make_chat: Make) -> None:
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("count")
        see.engine.feed(prompt_read(), step([], "1"), Finished(StopReason.LENGTH, ()))
        await see.until_state(State.READY)
        await choose(see, see.last)
        assert "Go on" in see.shown()
        see.prompt.focus()
        await see.ask("again")
        await see.answer(step([], "2"))
        await choose(see, see.last)
        assert "Go on" not in see.shown()


class TestTheList:
    @pytest.fixture
    def filled(self, store: ChatStore) -> ChatStore:
        for title, answer in (("CSV [/parser", "foo_bar(x)"), ("Tides", "the Moon pulls"), ("潮汐", "月が引く")):
            chat = store.create_chat(title)
            question = store.add_question(chat.id, None, f"about {title}")
            kept = store.begin_answer(question, {}, {})
            store.append(kept, answer)
            store.finish(kept, Kept.COMPLETE, {})
        return store

    async def test_search_finds_code_and_cjk(self, make_chat: Make, filled: ChatStore) -> None:
        chat = make_chat()
        async with chat.run() as see:
            listed = see.screen.query_one(Chats).query_one(OptionList)
            assert listed.option_count == 3
            for query, found in (("foo_bar(", "CSV [/parser"), ("月", "潮汐"), ("[red]", None)):
                await see.pilot.press("ctrl+f")
                see.screen.query_one(Chats).query_one(Input).value = query
                await see.until(partial(counts, listed, int(found is not None)), query)
                if found is None:
                    assert "nothing holds" in see.shown()
                    continue
                await see.pilot.press("enter", "enter")
                await see.until(partial(begins, see, f"about {found}"), "the chat")

    async def test_what_was_searched_for_is_seen_where_the_list_is_narrow(
        self, make_chat: Make, store: ChatStore
    ) -> None:
        question = store.add_question(store.create_chat("Tides").id, None, "go")
        kept = store.begin_answer(question, {}, {})
        store.append(kept, f"{'much before it ' * 9}needle {'behind ' * 9}")
        store.finish(kept, Kept.COMPLETE, {})
        chat = make_chat()
        async with chat.run(size=(80, 24)) as see:
            await see.pilot.press("ctrl+f")
            see.screen.query_one(Chats).query_one(Input).value = "needle"
            await see.until(lambda: "…ore it needle" in see.shown(), "what was found")

    async def test_delete_and_undo(self, make_chat: Make, filled: ChatStore) -> None:
        chat = make_chat()
        async with chat.run() as see:
            listed = see.screen.query_one(Chats).query_one(OptionList)
            listed.focus()
            await see.pilot.press("enter")
            await see.until(lambda: len(see.transcript.turns) == 2, "the newest chat")
            listed.focus()
            await see.pilot.press("delete")
            await see.until(lambda: listed.option_count == 2, "the deletion")
            assert not see.transcript.turns
            assert len(filled.chats()) == 2
            listed.focus()
            await see.pilot.press("u")
            await see.until(lambda: listed.option_count == 3, "the chat again")

    async def test_what_was_deleted_last_comes_back_first(self, make_chat: Make, filled: ChatStore) -> None:
        chat = make_chat()
        async with chat.run() as see:
            listed = see.screen.query_one(Chats).query_one(OptionList)
            listed.focus()
            before = [kept.id for kept in filled.chats()]
            await see.pilot.press("delete", "delete")
            await see.until(lambda: counts(listed, len(before) - 2), "two deleted")
            last = max(filled.chats(deleted=True), key=lambda kept: kept.deleted or kept.created)
            await see.pilot.press("u")
            await see.until(lambda: counts(listed, len(before) - 1), "one again")
            assert last.id in [kept.id for kept in filled.chats()]
            await see.pilot.press("u")
            await see.until(lambda: counts(listed, len(before)), "the other")
            assert [kept.id for kept in filled.chats()] == before

    async def test_rename(self, make_chat: Make, filled: ChatStore) -> None:
        chat = make_chat()
        async with chat.run() as see:
            see.screen.query_one(Chats).query_one(OptionList).focus()
            await see.pilot.press("f2")
            await see.until(lambda: chat.app.screen is not see.screen, "the question")
            chat.app.screen.query_one(Input).value = "a [/title"
            await see.pilot.press("enter")
            await see.until(lambda: "a [/title" in see.shown(), "the title")
        assert {kept.title for kept in filled.chats()} == {"CSV [/parser", "Tides", "a [/title"}

    @pytest.mark.parametrize(("width", "listed"), [(130, True), (100, False), (50, False)])
    async def test_it_has_room_on_a_wide_screen(
        self, make_chat: Make, filled: ChatStore, width: int, listed: bool
    ) -> None:
        chat = make_chat()
        async with chat.run(size=(width, 30)) as see:
            assert ("Tides" in see.shown()) == listed
            await see.pilot.press("ctrl+b")
            await see.until(lambda: ("Tides" in see.shown()) != listed, "the other way")
            await see.pilot.press("ctrl+b")
            await see.until(lambda: ("Tides" in see.shown()) == listed, "as it was")


async def test_a_disk_that_refuses_does_not_stop_the_answer(
    make_chat: Make, store: ChatStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("count")
        monkeypatch.setattr(store, "append", full)
        await see.answer(step(["1", " 2"], " 3"))
        assert see.shown().count("no space left") == 1
        assert "not kept" in see.shown()
        assert see.texts == ["count", "1 2 3"]
        monkeypatch.setattr(store, "add_question", full)
        see.prompt.insert("more")
        await see.pilot.press("enter")
        await see.until(lambda: see.shown().count("no space left") == 2, "the refusal")
        assert len(see.engine.asked) == 1
        assert see.prompt.text == "more"


async def test_a_refusal_is_said_once_for_an_answer(
    make_chat: Make, store: ChatStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "SAVED_EACH_S", 0.0)
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("count")
        monkeypatch.setattr(store, "append", full)
        await see.stream(step([], "1"))
        await see.until(lambda: "not kept" in see.shown(), "the refusal")
        await see.stream(step([], " 2", index=1, first=1))
        see.engine.feed(END)
        await see.until_state(State.READY)
        assert see.shown().count("no space left") == 1


async def test_what_a_slow_model_wrote_is_kept_before_it_writes_on(
    make_chat: Make, store: ChatStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answering, "SAVED_EACH_S", 0.01)
    monkeypatch.setattr(conversation, "SAVED_EACH_S", 3600.0)
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("count")
        await see.stream(step([], "1"))
        (kept,) = store.chats()
        await see.until(lambda: store.conversation(kept.id)[-1].text == "1", "what was written")


@pytest.mark.parametrize("name", ["chats", "conversation"])
async def test_a_disk_that_cannot_be_read_does_not_end_the_chat(
    make_chat: Make, store: ChatStore, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Bug: lists and conversations that could not be read anew were errors that nobody took."""

    def broken(*_: object, **__: object) -> None:
        raise StorageError("chats.db: the disk failed", "check the disk")

    chat = make_chat()
    async with chat.run() as see:
        await see.ask("one")
        with monkeypatch.context() as disk:
            disk.setattr(store, name, broken)
            await see.answer(step([], "1"))
            await see.until(lambda: "the disk failed" in see.shown(), "the refusal")
            assert see.texts == ["one", "1"]
            await see.pilot.press("f4")
            await see.until(lambda: chat.app.clipboard == "1", "the answer")
            await see.pilot.press("ctrl+n")
            await see.until(lambda: not see.transcript.turns, "another chat")
        await see.ask("two")
        with monkeypatch.context() as disk:
            disk.setattr(store, name, broken)
            see.engine.feed(GenerationError("llama.cpp failed"))
            await see.until_state(State.READY)
            assert "llama.cpp failed" in see.shown()


@pytest.mark.parametrize("name", ["chats", "questions"])
async def test_a_disk_that_cannot_be_read_at_the_start(
    make_chat: Make, store: ChatStore, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise StorageError("chats.db: the disk failed", "check the disk")

    monkeypatch.setattr(store, name, broken)
    chat = make_chat()
    async with chat.run() as see:
        assert "the disk failed" in see.shown()
        await see.ask("one")
        await see.answer(step([], "1"))


class TestViews:
    @pytest.mark.parametrize("usual", list(View))
    async def test_what_is_toggled_back_is_as_usual(self, make_chat: Make, usual: View) -> None:
        """Bug: two presses left the view that colours tokens while they are written."""
        chat = make_chat(view=usual)
        async with chat.run(view=usual) as see:
            for _ in range(2):
                await see.pilot.press("ctrl+t")
            assert see.screen._showing.view is usual
            await see.ask("go")
            await see.stream(step(["**bold**"], " text"))
            as_tokens = "**bold**" in see.shown()
            assert as_tokens is (usual is not View.MARKDOWN)
            await see.pilot.press("ctrl+t")
            await see.until(lambda: ("**bold**" in see.shown()) is not as_tokens, "the other view")
            await see.pilot.press("ctrl+t")
            await see.until(lambda: ("**bold**" in see.shown()) is as_tokens, "the view as before")
            assert see.screen._showing.view is usual

    async def test_tokens_while_it_is_written_then_markdown(self, make_chat: Make) -> None:
        chat = make_chat()
        async with chat.run(view=View.LIVE) as see:
            await see.ask("go")
            await see.stream(step(["**bold**"], " text"))
            assert "**bold**" in see.shown()
            see.engine.feed(END)
            await see.until_state(State.READY)
            await see.until(lambda: "bold text" in see.shown(), "Markdown")
            await see.pilot.press("ctrl+t")
            await see.until(lambda: "**bold**" in see.shown(), "tokens")
            await see.pilot.press("ctrl+t")
            await see.until(lambda: "**bold**" not in see.shown(), "Markdown again")
            await see.ask("more")
            await see.stream(step(["**fat**"], " words"))
            assert "**fat**" in see.shown()
            await see.pilot.press("ctrl+t")
            await see.until(lambda: "fat words" in see.shown(), "Markdown while it is written")

    async def test_a_token_tells_of_itself(self, make_chat: Make) -> None:
        chat = make_chat()
        async with chat.run(size=(140, 50)) as see:
            await see.ask("go")
            await see.answer(step(["aa"], "[/bb]", rejected=["[cc"], ignored=["dd"]))
            await choose(see, see.last)
            for key, told in (
                ("left", "‹[/bb]›  target's replacement"),
                ("left", "‹dd›  drafted behind it"),
                ("left", "‹[cc›  rejected draft token"),
                ("left", "‹aa›  accepted draft token"),
                ("left", "‹aa›  accepted draft token"),
            ):
                await see.pilot.press(key)
                await see.until(partial(says, see, told), told)
            await see.pilot.press("escape")
            await see.until(lambda: "‹aa›" not in see.shown(), "no token")
            await choose(see, see.last)
            await see.pilot.press("right")
            await see.until(lambda: "‹aa›" in see.shown(), "the first token")
            await see.pilot.press("right")
            await see.until(lambda: "‹[cc›" in see.shown(), "the next one")
            await see.pilot.press("escape")
            await see.until(lambda: "‹[cc›" not in see.shown(), "no token")
            await see.pilot.hover(see.last.tokens, offset=(3, 0))
            await see.until(lambda: "‹aa›" in see.shown(), "the token under the mouse")

    async def test_a_chosen_token_is_brought_into_view(self, make_chat: Make) -> None:
        """Bug: only the turn around it was asked to scroll, which cannot."""
        chat = make_chat()
        async with chat.run(size=(60, 20)) as see:
            await see.ask("go")
            await see.answer(step([], "first "), step([], "word " * 200 + "\n", first=1), step([], "last", first=2))
            await choose(see, see.last)
            for keys, text in ((["right"], "first"), (["right", "right"], "last"), (["left", "left"], "first")):
                await see.pilot.press(*keys)
                await see.until(partial(says, see, f"‹{text}"), "what is told of it")
                await see.until(partial(says, see, f"  {text}"), "the token itself")


class TestCopying:
    async def test_the_source_of_a_message_and_of_its_code(self, make_chat: Make) -> None:
        code = "```python\nif a[b]:\n\tprint('月')\n```\n"
        chat = make_chat()
        async with chat.run() as see:
            await see.ask("go")
            await see.answer(step(["**Here** "], f"it is:\n\n{code}"))
            await see.pilot.press("f4")
            await see.until(lambda: chat.app.clipboard == f"**Here** it is:\n\n{code}", "the message")
            await see.until(lambda: "sent to the terminal (OSC 52)" in see.shown(), "an honest notice")
            await choose(see, see.last)
            await see.pilot.press("k")
            await see.until(lambda: chat.app.clipboard == "if a[b]:\n\tprint('月')\n", "the code")
            await choose(see, see.transcript.turns[0])
            await see.pilot.press("c")
            await see.until(lambda: chat.app.clipboard == "go", "the question")

    async def test_no_code(self, make_chat: Make) -> None:
        chat = make_chat()
        async with chat.run() as see:
            await see.ask("go")
            await see.answer(step([], "no code"))
            await choose(see, see.last)
            assert "Copy code" not in see.shown()
            await see.pilot.press("k")
            assert not chat.app.clipboard


async def test_ctrl_c_ends_the_program_only_when_it_is_meant(make_chat: Make) -> None:
    chat = make_chat()
    async with chat.run() as see:
        see.prompt.insert("half a question")
        see.prompt.focus()
        await see.pilot.press("ctrl+c")
        assert see.prompt.text == ""
        assert "Ctrl+C again" in see.shown()
        await see.pilot.press("up")
        assert see.prompt.text == "half a question"
        await see.pilot.press("ctrl+c")
        assert chat.app.is_running
        await see.pilot.press("ctrl+c")
        await see.until(lambda: not chat.app.is_running, "the end")


async def test_earlier_prompts_come_back_after_a_restart(make_chat: Make) -> None:
    async with make_chat().run() as see:
        for text in ("one", "two"):
            await see.ask(text)
            await see.answer(step([], "x"))
    async with make_chat().run() as see:
        see.prompt.focus()
        for expected in ("two", "one"):
            await see.pilot.press("up")
            assert see.prompt.text == expected


async def test_reasoning_is_folded(make_chat: Make) -> None:
    chat = make_chat()
    async with chat.run(view=View.LIVE) as see:
        await see.ask("go")
        await see.answer(step(["<think>", "let me see"], "</think>", first=0), step([], "It is 4.", first=3))
        await see.until(lambda: "It is 4." in see.shown(), "the answer")
        assert "let me see" not in see.shown()
        assert "3 words" in see.shown()
