"""Chats, and the branches of their conversations."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from specdesk.errors import UsageError
from specdesk.paths import chats_file
from specdesk.store.chat_store import ChatStore
from specdesk.store.values import ChatMessage, Role, State
from tests.store.samples import MODELS, ODD_TEXTS, SETTINGS, Clock, answered, ask, check_index, texts


def test_a_chat_is_there_again(file: Path, clock: Clock) -> None:
    with ChatStore.open(pytest.fail, file, clock) as store:
        chat = store.create_chat("Tides", "Be brief.")
        begun = clock.now
        question, answer = ask(store, chat.id, None, "Why two?", "The Earth turns.")
        ended = clock.now
    with ChatStore.open(pytest.fail, file, clock) as store:
        (again,) = store.chats()
        assert again == store.chat(chat.id)
        assert (again.title, again.system, again.created, again.updated) == ("Tides", "Be brief.", begun, ended)
        assert (again.leaf, again.deleted, again.n_messages) == (answer, None, 2)
        asked, said = store.conversation(chat.id)
    assert asked == ChatMessage(
        id=question,
        chat_id=chat.id,
        parent=None,
        role=Role.USER,
        state=State.COMPLETE,
        text="Why two?",
        error=None,
        created=asked.created,
        settings=None,
        models=None,
        stats=None,
        left_out=None,
        siblings=(question,),
    )
    assert begun < asked.created < said.created < ended
    assert (said.role, said.state, said.text, said.parent) == (
        Role.ASSISTANT,
        State.COMPLETE,
        "The Earth turns.",
        question,
    )
    assert (said.settings, said.models, said.stats) == (SETTINGS, MODELS, {"tokens_per_s": 1 / 3})


def test_the_default_place() -> None:
    with ChatStore.open(pytest.fail) as store:
        store.create_chat("here")
    assert chats_file().is_file()


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_every_text_comes_back(store: ChatStore, text: str) -> None:
    chat = store.create_chat(text, text)
    question = store.add_question(chat.id, None, text)
    answer = store.begin_answer(question, {"text": text}, {"name": text})
    store.append(answer, text, [{"text": text}])
    store.finish(answer, State.FAILED, {"text": text}, error=text)
    again = store.chat(chat.id)
    assert (again.title, again.system) == (text, text)
    asked, said = store.conversation(chat.id)
    assert (asked.text, said.text, said.error) == (text, text, text)
    assert (said.settings, said.models, said.stats) == ({"text": text}, {"name": text}, {"text": text})
    assert store.trace(answer) == [{"text": text}]


def test_the_one_used_last_comes_first(store: ChatStore) -> None:
    first, second, third = (store.create_chat(title).id for title in ("a", "b", "c"))
    assert [chat.id for chat in store.chats()] == [third, second, first]
    ask(store, second, None, "?", "!")
    store.rename(first, "renamed: this is no use")
    assert [chat.id for chat in store.chats()] == [second, third, first]
    assert [chat.id for chat in store.chats(limit=1, offset=1)] == [third]
    assert store.chat(first).title == "renamed: this is no use"


def test_a_second_answer_stands_beside_the_first(store: ChatStore) -> None:
    chat = store.create_chat("t").id
    question, first = ask(store, chat, None, "q", "first")
    follow_up, _ = ask(store, chat, first, "and?", "more")
    second = answered(store, question, "second")
    assert texts(store, chat) == ["q", "second"]
    assert store.conversation(chat)[1].siblings == (first, second)
    assert store.conversation(chat)[1].sibling_index == 1
    store.switch_branch(first)
    assert texts(store, chat) == ["q", "first", "and?", "more"]
    assert store.conversation(chat)[1].sibling_index == 0
    assert store.conversation(chat)[2].siblings == (follow_up,)


def test_an_edited_question_stands_beside_the_first(store: ChatStore) -> None:
    chat = store.create_chat("t").id
    first, answer = ask(store, chat, None, "q1", "a1")
    second = store.add_question(chat, None, "q2")
    assert texts(store, chat) == ["q2"]
    assert store.conversation(chat)[0].siblings == (first, second)
    third, _ = ask(store, chat, answer, "q3", "a3")
    fourth, _ = ask(store, chat, answer, "q4", "a4")
    assert texts(store, chat) == ["q1", "a1", "q4", "a4"]
    assert store.conversation(chat)[2].siblings == (third, fourth)
    assert [message.text for message in store.messages(chat)] == ["q1", "a1", "q2", "q3", "a3", "q4", "a4"]


def test_switching_to_a_question_goes_on_with_what_is_newest(store: ChatStore) -> None:
    chat = store.create_chat("t").id
    question, old = ask(store, chat, None, "q", "old")
    ask(store, chat, old, "old too", "oldest")
    new = answered(store, question, "new")
    ask(store, chat, new, "new too", "newest")
    store.add_question(chat, None, "other")
    store.switch_branch(question)
    assert texts(store, chat) == ["q", "new", "new too", "newest"]


def test_what_is_left_out_can_be_shown_again(store: ChatStore) -> None:
    chat = store.create_chat("t").id
    first, answer = ask(store, chat, None, "q1", "a1")
    second, last = ask(store, chat, answer, "q2", "a2")
    for message in (second, last):
        assert store.leave_out(message) == last
        assert texts(store, chat) == ["q1", "a1"]
        assert [message.left_out is not None for message in store.messages(chat)] == [False, False, True, False]
        store.switch_branch(last)
        assert texts(store, chat) == ["q1", "a1", "q2", "a2"]
        assert [message.left_out for message in store.messages(chat)] == [None] * 4
    for message in (first, answer):
        assert store.leave_out(message) == last
        assert texts(store, chat) == []
        store.switch_branch(last)
    other, _ = ask(store, chat, answer, "q3", "a3")
    assert store.conversation(chat)[2].siblings == (second, other)
    with pytest.raises(UsageError, match=f"message {second} is not in the conversation"):
        store.leave_out(second)
    assert len(store.messages(chat)) == 6


def test_no_branch_leads_to_what_is_left_out(store: ChatStore) -> None:
    """Bug: going to another branch and back brought deleted messages into sight."""
    chat = store.create_chat("t").id
    first, answer = ask(store, chat, None, "q1", "a1")
    second, last = ask(store, chat, answer, "q2", "a2")
    ask(store, chat, last, "q3", "a3")
    store.leave_out(second)
    other, _ = ask(store, chat, None, "other", "o")
    assert store.conversation(chat)[0].siblings == (first, other)
    store.switch_branch(first)
    assert texts(store, chat) == ["q1", "a1"]
    beside, _ = ask(store, chat, answer, "q4", "a4")
    assert store.conversation(chat)[2].siblings == (beside,)
    assert {message.id: message.siblings for message in store.messages(chat)}[second] == (second, beside)


def test_what_comes_back_leaves_what_was_deleted_before_it(store: ChatStore) -> None:
    chat = store.create_chat("t").id
    first, answer = ask(store, chat, None, "q1", "a1")
    second, last = ask(store, chat, answer, "q2", "a2")
    ends = [store.leave_out(second), store.leave_out(first)]
    assert ends == [last, answer]
    store.show(ends.pop())
    assert texts(store, chat) == ["q1", "a1"]
    store.show(ends.pop())
    assert texts(store, chat) == ["q1", "a1", "q2", "a2"]
    store.leave_out(second)
    store.leave_out(first)
    store.show(last)  # as from the search: all that leads there is shown
    assert texts(store, chat) == ["q1", "a1", "q2", "a2"]


def test_a_message_is_shown_in_a_branch_that_has_it(store: ChatStore) -> None:
    chat = store.create_chat("t").id
    first, answer = ask(store, chat, None, "q1", "a1")
    second, middle = ask(store, chat, answer, "q2", "a2")
    third, _ = ask(store, chat, middle, "q3", "a3")
    store.show(first)
    assert texts(store, chat) == ["q1", "a1", "q2", "a2", "q3", "a3"]
    ask(store, chat, None, "other", "o")
    store.show(second)
    assert texts(store, chat) == ["q1", "a1", "q2", "a2", "q3", "a3"]
    store.leave_out(third)
    store.show(answer)  # it is shown
    assert texts(store, chat) == ["q1", "a1", "q2", "a2"]
    ask(store, chat, answer, "q4", "a4")
    store.show(second)
    assert texts(store, chat) == ["q1", "a1", "q2", "a2"]


def test_questions_and_answers_take_turns(store: ChatStore) -> None:
    chat, other = store.create_chat("t").id, store.create_chat("u").id
    question, answer = ask(store, chat, None, "q", "a")
    with pytest.raises(UsageError, match=f"message {question} is no answer of chat {chat}"):
        store.add_question(chat, question, "q")
    with pytest.raises(UsageError, match=f"message {answer} is no answer of chat {other}"):
        store.add_question(other, answer, "q")
    with pytest.raises(UsageError, match=f"message {answer} is no question"):
        store.begin_answer(answer, {}, {})
    assert (store.chat(chat).n_messages, store.chat(other).n_messages) == (2, 0)


def test_what_is_not_there(store: ChatStore) -> None:
    chats: list[Callable[[], object]] = [
        lambda: store.chat(7),
        lambda: store.rename(7, "t"),
        lambda: store.delete(7),
        lambda: store.restore(7),
        lambda: store.messages(7),
        lambda: store.conversation(7),
        lambda: store.export(7),
        lambda: store.add_question(7, None, "q"),
    ]
    for use in chats:
        with pytest.raises(UsageError, match="there is no chat 7"):
            use()
    messages: list[Callable[[], object]] = [
        lambda: store.begin_answer(7, {}, {}),
        lambda: store.switch_branch(7),
        lambda: store.leave_out(7),
        lambda: store.trace(7),
        lambda: store.add_question(store.create_chat("t").id, 7, "q"),
    ]
    for use in messages:
        with pytest.raises(UsageError, match="there is no message 7"):
            use()


def test_a_deleted_chat_can_be_restored(store: ChatStore, clock: Clock) -> None:
    chat, other = store.create_chat("t").id, store.create_chat("u").id
    ask(store, chat, None, "q", "a")
    before = store.chat(chat)
    store.delete(chat)
    assert [kept.id for kept in store.chats()] == [other]
    assert [(gone.id, gone.deleted) for gone in store.chats(deleted=True)] == [(chat, clock.now)]
    assert texts(store, chat) == ["q", "a"]
    store.restore(chat)
    assert store.chat(chat) == before
    assert store.chats(deleted=True) == []


def test_a_chat_that_is_gone_on_with_is_not_deleted(store: ChatStore) -> None:
    chat = store.create_chat("t").id
    store.delete(chat)
    store.add_question(chat, None, "after all")
    assert [kept.id for kept in store.chats()] == [chat]


def test_what_was_deleted_long_ago_is_purged(clock: Clock, file: Path) -> None:
    store = ChatStore.open(pytest.fail, file, clock)
    old, new, kept = (store.create_chat(title).id for title in ("old", "new", "kept"))
    last = None
    for number in range(1100):  # more than SQLite nests cascades
        last = ask(store, old, last, f"q{number}", "the secret word is xylograph")[1]
    answered_here = ask(store, kept, None, "q", "a xylophone")[1]
    store.delete(old)
    clock.now += timedelta(days=29)
    store.delete(new)
    assert store.purge(30) == 0
    clock.now += timedelta(days=1)
    assert store.purge(30) == 1
    assert [chat.id for chat in store.chats(deleted=True)] == [new]
    with pytest.raises(UsageError):
        store.chat(old)
    store.restore(new)
    assert [hit.message_id for hit in store.search("xylo")] == [answered_here]
    check_index(store)
    for chat in (new, kept):
        store.delete(chat)
    assert store.purge(0) == 2
    with store._database.reading() as db:
        (n_bytes,) = db.execute("SELECT sum(length(block)) FROM full_text_data").fetchone()
    assert n_bytes < 100  # an empty index; what is noted as gone takes thousands
    store.close()
    assert b"xylograph" not in file.read_bytes()


def test_numbers_are_not_used_again(store: ChatStore) -> None:
    gone = store.create_chat("t").id
    store.delete(gone)
    store.purge(0)
    assert store.create_chat("u").id != gone


def test_a_chat_that_is_answered_is_not_purged(store: ChatStore) -> None:
    chat = store.create_chat("t").id
    answer = store.begin_answer(store.add_question(chat, None, "q"), {}, {})
    store.delete(chat)
    assert store.purge(0) == 0
    store.finish(answer, State.COMPLETE)
    assert store.chat(chat).deleted is not None
    assert store.purge(0) == 1


def test_the_latest_questions_of_all_chats(store: ChatStore) -> None:
    chats = [store.create_chat(title).id for title in ("a", "b", "c")]
    for chat, text in zip([*chats, *chats[:2]], ("one", "two", "gone", "three", "潮汐 [/"), strict=True):
        store.add_question(chat, None, text)
    store.delete(chats[2])
    assert store.questions(10) == ["one", "two", "three", "潮汐 [/"]
    assert store.questions(2) == ["three", "潮汐 [/"]
