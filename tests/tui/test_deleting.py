"""Messages that are deleted and brought back, in whatever order, and what happens meanwhile."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from textual.widgets import Input, OptionList

from specdesk.errors import StorageError
from specdesk.store.chat_store import ChatStore
from specdesk.store.values import ChatMessage
from specdesk.tui.chat.state import State
from specdesk.tui.widgets.chats import Chats
from specdesk.tui.widgets.turn import Act
from tests.tui.driver import Chat, Driver
from tests.tui.full_disk import full
from tests.tui.scripted import END, step

Make = Callable[..., Chat]
SAID = ("one", "1", "two", "2", "three", "3")


async def until_shown(see: Driver, *texts: str) -> None:
    await see.until(lambda: see.texts == list(texts), f"the conversation {texts}")


async def say(see: Driver, *texts: str) -> None:
    """Questions and their answers."""
    for question, answer in zip(texts[::2], texts[1::2], strict=True):
        await see.ask(question)
        await see.answer(step([], answer))


async def on_turn(see: Driver, at: int, key: str) -> None:
    see.transcript.turns[at].focus()
    await see.pilot.pause()
    await see.pilot.press(key)


async def in_list(see: Driver, *keys: str) -> None:
    see.screen.query_one(Chats).query_one(OptionList).focus()
    await see.pilot.press(*keys)
    await see.pilot.pause()


async def until_said(see: Driver, text: str) -> None:
    await see.until(lambda: text in see.shown(), text)


async def test_each_undo_brings_back_what_one_deletion_took(make_chat: Make) -> None:
    """Bug: the first one brought back everything, and the others nothing."""
    async with make_chat().run() as see:
        await say(see, *SAID)
        for left in (4, 2, 0):
            await on_turn(see, left, "delete")
            await until_shown(see, *SAID[:left])
        for left in (2, 4, 6):
            await in_list(see, "u")
            await until_shown(see, *SAID[:left])
        await in_list(see, "u")
        await until_said(see, "nothing was deleted here")


async def test_what_was_said_since_is_not_lost_by_an_undo(make_chat: Make, store: ChatStore) -> None:
    async with make_chat().run() as see:
        await say(see, *SAID[:4])
        await on_turn(see, 2, "delete")
        await until_shown(see, "one", "1")
        await say(see, "other", "0")
        await in_list(see, "u")
        await until_shown(see, *SAID[:4])
        await on_turn(see, 2, "right_square_bracket")
        await until_shown(see, "one", "1", "other", "0")
    (kept,) = store.chats()
    assert len(store.messages(kept.id)) == 6


async def test_what_was_deleted_is_no_branch(make_chat: Make, store: ChatStore) -> None:
    """Bug: the keys that go through branches led back to it."""
    async with make_chat().run() as see:
        await say(see, *SAID[:4])
        await on_turn(see, 2, "delete")
        await until_shown(see, "one", "1")
        await say(see, "other", "0")
        assert not see.transcript.turns[2].can(Act.OLDER)
        await on_turn(see, 0, "e")
        await until_said(see, "editing")
        see.prompt.clear()
        await say(see, "instead", "2")
        await until_shown(see, "instead", "2")
        await on_turn(see, 0, "left_square_bracket")
        await until_shown(see, "one", "1", "other", "0")
    (kept,) = store.chats()
    assert [message.left_out is None for message in store.messages(kept.id)].count(False) == 1


async def test_nothing_comes_back_into_a_chat_that_answers(make_chat: Make, store: ChatStore) -> None:
    """Bug: the answer was taken for that of the question that came back."""
    async with make_chat().run() as see:
        await say(see, *SAID[:4])
        await on_turn(see, 2, "delete")
        await until_shown(see, "one", "1")
        await see.ask("other")
        await in_list(see, "u")
        await until_said(see, "not brought back: still answering")
        await see.answer(step([], "0"))
        assert see.texts == ["one", "1", "other", "0"]
        assert [turn.message and turn.message.text for turn in see.transcript.turns] == see.texts
        await in_list(see, "u")
        await until_shown(see, *SAID[:4])
    (kept,) = store.chats()
    assert [message.text for message in store.conversation(kept.id)] == [*SAID[:4]]


async def test_another_chat_gets_its_messages_back_while_one_answers(make_chat: Make, store: ChatStore) -> None:
    async with make_chat().run() as see:
        await say(see, *SAID[:4])
        await on_turn(see, 2, "delete")
        await until_shown(see, "one", "1")
        await see.pilot.press("ctrl+n")
        await see.ask("other")
        await in_list(see, "u")
        await until_said(see, "what was deleted from “one” is back")
        await see.answer(step([], "0"))
        assert see.texts == ["other", "0"]
    first = next(chat for chat in store.chats() if chat.title == "one")
    assert [message.text for message in store.conversation(first.id)] == [*SAID[:4]]


@pytest.mark.parametrize("in_the_list", [True, False])
async def test_an_edit_ends_when_messages_come_back(make_chat: Make, in_the_list: bool) -> None:
    """Bug: the question to be replaced was looked for where it no longer stood, which ended the chat."""
    async with make_chat().run() as see:
        await say(see, *SAID[:4])
        await on_turn(see, 2, "delete")
        await until_shown(see, "one", "1")
        await on_turn(see, 0, "e")
        await until_said(see, "editing")
        if in_the_list:
            await in_list(see, "u")
        else:
            await on_turn(see, 1, "u")
        await until_shown(see, *SAID[:4])
        assert "editing" not in see.shown()
        see.prompt.clear()
        await say(see, *SAID[4:])
        assert see.texts == [*SAID]


@pytest.mark.parametrize("keys", [["ctrl+n"], ["ctrl+b", "ctrl+b", "enter"], ["ctrl+b", "ctrl+b", "delete"]])
async def test_an_edit_is_not_told_of_in_another_chat(make_chat: Make, keys: list[str]) -> None:
    """Bug: it was over, and the border still said that Enter asks in the place of another question."""
    async with make_chat().run() as see:
        await say(see, *SAID[:4])
        await on_turn(see, 0, "e")
        await until_said(see, "editing")
        await see.pilot.press(*keys)
        await see.until(lambda: "editing" not in see.shown(), "the usual hint")
        assert see.prompt.text == "one"


@pytest.mark.parametrize("key", ["delete", "r", "e"])
async def test_a_question_that_got_no_answer_is_not_taken_for_another(
    make_chat: Make, store: ChatStore, key: str
) -> None:
    """Bug: it was taken for one above it as soon as the next was answered, and Delete on it deleted that one."""
    async with make_chat().run() as see:
        await say(see, "one", "1")
        await see.ask("unanswered")
        await see.pilot.press("escape")
        await see.until_state(State.READY)
        see.prompt.clear()
        await say(see, "two", "2")
        assert see.texts == ["one", "1", "two", "2"]
        await on_turn(see, 3 if key == "r" else 2, key)
        if key == "delete":
            await until_shown(see, "one", "1")
        else:
            if key == "e":
                assert see.prompt.text == "two"
                await see.pilot.press("enter")
            await see.until(lambda: len(see.engine.asked) == 4, "the question")
            await see.answer(step([], "3"))
            assert see.texts == ["one", "1", "two", "3"]
    (kept,) = store.chats()
    said = [] if key == "delete" else ["two", "3"]
    assert [message.text for message in store.conversation(kept.id)] == ["one", "1", *said]


async def test_a_question_that_was_kept_alone_is_no_obstacle(
    make_chat: Make, store: ChatStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bug: where the disk refused the answer's place, the chat refused every question from then on."""

    async with make_chat().run() as see:
        await say(see, "one", "1")
        with monkeypatch.context() as disk:
            disk.setattr(store, "begin_answer", full)
            see.prompt.insert("two")
            await see.pilot.press("enter")
            await until_said(see, "no space left")
        assert see.prompt.text == "two"
        await see.pilot.press("enter")
        await see.until(lambda: len(see.engine.asked) == 2, "the question")
        assert [message.content for message in see.engine.asked[-1][0]] == ["one", "1", "two"]
        await see.answer(step([], "2"))
        assert see.texts == ["one", "1", "two", "2"]


async def test_a_chat_that_ends_with_a_question_goes_on(make_chat: Make, store: ChatStore) -> None:
    """As one does that was killed at the wrong moment, or that came from elsewhere."""
    store.add_question(store.create_chat("t").id, None, "alone")
    async with make_chat().run() as see:
        await in_list(see, "enter")
        await until_shown(see, "alone")
        await say(see, "one", "1")
        assert [message.content for message in see.engine.asked[-1][0]] == ["one"]
        await say(see, "two", "2")
        assert [message.content for message in see.engine.asked[-1][0]] == ["one", "1", "two"]


@pytest.mark.parametrize("in_the_list", [True, False])
async def test_keys_go_where_they_went(make_chat: Make, in_the_list: bool) -> None:
    """Bug: after an undo in the conversation they went to the list, where Delete deletes a chat."""
    async with make_chat().run() as see:
        await say(see, *SAID)
        await on_turn(see, 4, "delete")
        await until_shown(see, *SAID[:4])
        if in_the_list:
            await in_list(see, "u")
        else:
            await on_turn(see, 0, "u")
        await until_shown(see, *SAID)
        await see.pilot.pause()
        assert see.prompt.has_focus is not in_the_list
        assert see.screen.query_one(Chats).query_one(OptionList).has_focus is in_the_list


@pytest.mark.parametrize(("at", "key"), [(3, "r"), (2, "left_square_bracket"), (2, "delete"), (0, "delete"), (0, "e")])
async def test_no_key_of_a_message_ends_in_the_list_of_chats(make_chat: Make, at: int, key: str) -> None:
    async with make_chat().run() as see:
        await say(see, *SAID[:4])
        await on_turn(see, 2, "e")
        see.prompt.clear()
        await say(see, "other", "0")
        await on_turn(see, at, key)
        await see.pilot.pause()
        await see.pilot.pause()
        assert not see.screen.query_one(Chats).query_one(OptionList).has_focus
        see.engine.feed(END)


async def test_what_was_purged_meanwhile_is_no_obstacle(make_chat: Make, store: ChatStore) -> None:
    """Bug: what could not come back any more was tried for ever, and what was deleted before it never came back."""
    async with make_chat().run() as see:
        await say(see, *SAID[:4])
        await on_turn(see, 2, "delete")
        await until_shown(see, "one", "1")
        await see.pilot.press("ctrl+n")
        await say(see, "other", "0")
        await in_list(see, "delete")
        await see.until(lambda: not see.transcript.turns, "the deletion")
        store.purge(0)
        await in_list(see, "u")
        await until_said(see, "there is no chat")
        await in_list(see, "u")
        await until_said(see, "what was deleted from “one” is back")


async def test_what_the_disk_refuses_can_be_tried_again(
    make_chat: Make, store: ChatStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with make_chat().run() as see:
        await say(see, *SAID[:4])
        with monkeypatch.context() as disk:
            disk.setattr(store, "leave_out", full)
            await on_turn(see, 2, "delete")
            await until_said(see, "no space left")
        assert see.texts == [*SAID[:4]]
        disks: list[Callable[..., None]] = [full, store.show]
        monkeypatch.setattr(store, "show", lambda *place: disks.pop(0)(*place))
        await on_turn(see, 2, "delete")
        await until_shown(see, "one", "1")
        await in_list(see, "u")
        await until_said(see, "no space left")
        await in_list(see, "u")
        await until_shown(see, *SAID[:4])


async def test_a_message_that_is_not_known_is_not_deleted(
    make_chat: Make, store: ChatStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bug: nothing happened, and nothing was said."""

    def broken(*_: object) -> list[ChatMessage]:
        raise StorageError("chats.db: the disk failed", "check the disk")

    async with make_chat().run() as see:
        await see.ask("one")
        with monkeypatch.context() as disk:
            disk.setattr(store, "conversation", broken)
            await see.answer(step([], "1"))
        await on_turn(see, 0, "delete")
        await until_said(see, "not deleted: ")


@pytest.mark.parametrize("deleted", [True, False])
async def test_what_is_found_in_another_branch_is_shown(make_chat: Make, deleted: bool) -> None:
    """Bug: the chat was opened at the branch that was shown last, without what was found."""
    async with make_chat().run() as see:
        await say(see, "one", "1", "needle", "2")
        if deleted:
            await on_turn(see, 2, "delete")
            await until_shown(see, "one", "1")
        else:
            await on_turn(see, 2, "e")
            see.prompt.clear()
            await say(see, "other", "0")
        await see.pilot.press("ctrl+f", *"needle")
        listed = see.screen.query_one(Chats)
        assert listed.query_one(Input).value == "needle"
        options = listed.query_one(OptionList)
        await see.until(lambda: options.option_count == 1 and "needle" in str(options.options[0].prompt), "the hit")
        await see.pilot.press("enter", "enter")
        await until_shown(see, "one", "1", "needle", "2")
        await see.until(lambda: see.transcript.turns[2].has_focus, "the message")


class TestWhileLoading:
    """A question that is to be sent when the models are there."""

    @pytest.mark.parametrize("keys", [["ctrl+n"], ["ctrl+b", "ctrl+b", "down", "enter"], ["escape"]])
    async def test_it_waits_for_enter_where_it_was_not_asked(self, make_chat: Make, keys: list[str]) -> None:
        """Bug: it was asked in whatever chat was open when the models were there; and Escape did nothing."""
        chat = make_chat()
        async with chat.run() as see:
            await say(see, *SAID[:2])
            await see.pilot.press("ctrl+n")
            await say(see, *SAID[2:4])
            chat.may_load.clear()
            see.screen.load_models()
            see.prompt.insert("early")
            await see.pilot.press("enter")
            await until_said(see, "then it is sent")
            await see.pilot.press(*keys)
            await see.until(lambda: "then it is sent" not in see.shown(), "that it waits")
            chat.may_load.set()
            await see.until_state(State.READY)
            await see.pilot.pause()
            assert (see.prompt.text, len(see.engine.asked)) == ("early", 2)
            see.prompt.focus()
            await see.pilot.press("enter")
            await see.until(lambda: len(see.engine.asked) == 3, "the question")

    async def test_it_waits_for_enter_in_another_branch(self, make_chat: Make) -> None:
        chat = make_chat()
        async with chat.run() as see:
            await say(see, *SAID[:2])
            await see.pilot.press("ctrl+r")
            await see.until(lambda: len(see.engine.asked) == 2, "again")
            await see.answer(step([], "0"))
            chat.may_load.clear()
            see.screen.load_models()
            see.prompt.focus()
            see.prompt.insert("early")
            await see.pilot.press("enter")
            await until_said(see, "then it is sent")
            await on_turn(see, 1, "left_square_bracket")
            await until_shown(see, *SAID[:2])
            assert "then it is sent" not in see.shown()
            chat.may_load.set()
            await see.until_state(State.READY)
            assert see.prompt.text == "early"

    async def test_it_takes_the_place_of_the_question_that_is_edited(self, make_chat: Make) -> None:
        chat = make_chat()
        async with chat.run() as see:
            await say(see, *SAID[:4])
            await on_turn(see, 2, "e")
            chat.may_load.clear()
            see.screen.load_models()
            await see.pilot.press("!", "enter")
            await until_said(see, "then it is sent")
            chat.may_load.set()
            await see.until(lambda: len(see.engine.asked) == 3, "the question")
            assert [message.content for message in see.engine.asked[-1][0]] == ["one", "1", "two!"]

    async def test_ctrl_c_puts_it_away(self, make_chat: Make) -> None:
        chat = make_chat(load_at_once=False)
        async with chat.run(ready=False) as see:
            await see.until_state(State.LOADING)
            see.prompt.insert("early")
            await see.pilot.press("enter", "ctrl+c")
            assert see.prompt.text == ""
            chat.may_load.set()
            await see.until_state(State.READY)
            await see.pilot.pause()
            assert see.engine.asked == []
            await see.pilot.press("up")
            assert see.prompt.text == "early"
