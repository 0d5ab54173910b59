"""Text is found as it is typed, whatever it looks like."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from specdesk.store import chat_store, search
from specdesk.store.chat_store import ChatStore
from specdesk.store.values import Hit, Role, State
from tests.store.samples import Clock, answered, ask, check_index

CODE = """def foo_bar(x: int) -> "str":
    return p->next if x % 2 else '*' AND NEAR(a b) OR "q" -- {text: a^b} \\d+ LIKE 'a_c' ""
"""


@pytest.fixture(params=["index", "no index"])
def either(
    request: pytest.FixtureRequest, file: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ChatStore]:
    """A store with and without an index."""
    said: list[str] = []
    if request.param == "no index":
        monkeypatch.setattr(chat_store, "has_trigram", lambda: False)
    with ChatStore.open(said.append, file, clock) as opened:
        yield opened
        if request.param == "index":
            check_index(opened)
    assert len(said) == (request.param == "no index")


def marked(hit: Hit) -> str:
    """What of the snippet is highlighted."""
    return hit.snippet[hit.start : hit.end]


@pytest.mark.parametrize(
    "query",
    [
        "foo_bar(",
        "p->next",
        '"q"',
        '"',
        '""',
        "%",
        "% 2",
        "_",
        "a_c",
        "*",
        "'*'",
        "AND",
        "AND NEAR(a b)",
        "NEAR(",
        "OR",
        "-- {text: a^b}",
        "text:",
        "^b",
        "\\d+",
        "\\",
        "a",
        ":\n    return",
        "NOT_BAR(",
    ],
)
def test_code_is_found_literally(either: ChatStore, query: str) -> None:
    chat = either.create_chat("-").id
    _, answer = ask(either, chat, None, "1", CODE)
    ask(either, chat, answer, "1", "fooXbar(x) p=>next 2 q d+ b c")
    hits = either.search(query)
    found = [hit for hit in hits if hit.message_id == answer]
    assert bool(found) == (query != "NOT_BAR(")
    if query not in ("a", "NOT_BAR("):
        assert hits == found
        assert marked(found[0]) == query.replace("\n", " ")


@pytest.mark.parametrize(
    ("text", "query", "found"),
    [
        ("你好，世界", "好", "好"),
        ("你好，世界", "世界", "世界"),
        ("今日の潮汐は大きい", "潮汐は大", "潮汐は大"),
        ("ПРИЛИВ", "лив", "ЛИВ"),
        ("ПРИЛИВ", "ив", "ИВ"),
        ("Tide", "tIDE", "Tide"),
        ("Tide", "E", "e"),
        ("a 🦜 b", "🦜", "🦜"),
        ("xx🦜🦜🦜x", "🦜🦜🦜", "🦜🦜🦜"),
        ("before\0behind", "behind", "behind"),
        ("before\0behind", "e\0b", "e\0b"),
        ("before\0behind", "hi", "hi"),
        ("a\ud800b", "\ud800", "\ud800"),
    ],
)
def test_any_script_and_any_case(either: ChatStore, text: str, query: str, found: str) -> None:
    question = either.add_question(either.create_chat("-").id, None, text)
    (hit,) = either.search(query)
    assert (hit.message_id, hit.role, marked(hit)) == (question, Role.USER, found)
    assert either.search(query + "?") == []


def test_titles_first_then_the_newest(either: ChatStore) -> None:
    old, new = either.create_chat("about tides").id, either.create_chat("Tides again").id
    first, second = ask(either, new, None, "tides?", "Two tides.")
    third, _ = ask(either, old, None, "why tides?", "-")
    hits = either.search("tides")
    assert [(hit.chat.id, hit.message_id) for hit in hits] == [
        (old, None),
        (new, None),
        (old, third),
        (new, second),
        (new, first),
    ]
    assert [marked(hit) for hit in hits] == ["tides", "Tides", "tides", "tides", "tides"]
    assert hits[0].chat == either.chat(old)
    assert hits[2].created == either.conversation(old)[0].created
    assert [hit.message_id for hit in either.search("tides", limit=3)] == [None, None, third]
    assert [hit.message_id for hit in either.search("tides", limit=1)] == [None]


def test_every_branch_is_searched(either: ChatStore) -> None:
    chat = either.create_chat("-").id
    question, first = ask(either, chat, None, "q", "a heron")
    answered(either, question, "a stork")
    assert [hit.message_id for hit in either.search("heron")] == [first]


def test_deleted_chats_are_left_out(either: ChatStore) -> None:
    chat = either.create_chat("heron").id
    ask(either, chat, None, "a heron", "ok")
    either.delete(chat)
    assert either.search("heron") == either.search("ok") == []
    either.restore(chat)
    assert len(either.search("heron")) == 2


def test_a_new_title_is_found_and_the_old_one_is_not(either: ChatStore) -> None:
    chat = either.create_chat("heron").id
    either.rename(chat, "stork")
    assert (len(either.search("heron")), len(either.search("stork"))) == (0, 1)


def test_what_is_being_written_is_found_when_it_is_finished(either: ChatStore) -> None:
    answer = either.begin_answer(either.add_question(either.create_chat("-").id, None, "q"), {}, {})
    either.append(answer, "a her")
    either.append(answer, "on")
    assert either.search("heron") == []
    either.finish(answer, State.STOPPED)
    assert [hit.message_id for hit in either.search("heron")] == [answer]


def test_a_snippet_is_one_line_around_the_place(either: ChatStore) -> None:
    text = "x" * 500 + "\n\tan\u2028heron\r\n" + "y" * 500
    either.add_question(either.create_chat("-").id, None, text)
    (hit,) = either.search("HERON")
    assert marked(hit) == "heron"
    assert hit.snippet.startswith("…x")
    assert hit.snippet.endswith("y…")
    assert "  an heron  " in hit.snippet
    assert len(hit.snippet) < 200


@pytest.mark.parametrize("text", ["heron", "heron y", "x heron"])
def test_a_short_text_is_its_own_snippet(either: ChatStore, text: str) -> None:
    either.add_question(either.create_chat("-").id, None, text)
    (hit,) = either.search("heron")
    assert hit.snippet == text


def test_letters_whose_case_is_disputed_still_give_a_snippet(either: ChatStore) -> None:
    """SQLite and Python do not agree on all of them."""
    either.add_question(either.create_chat("-").id, None, "İstanbul and more")
    assert all(0 <= hit.start <= hit.end <= len(hit.snippet) for hit in either.search("İstanbul"))


def test_nothing_is_found_of_nothing(store: ChatStore) -> None:
    store.create_chat("")
    assert store.search("") == []
    assert store.search("x" * 200_000) == []


def test_without_an_index_it_is_said_once(file: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_store, "has_trigram", lambda: False)
    said: list[str] = []
    with ChatStore.open(said.append, file, clock) as store:
        assert said == []
        for _ in range(2):
            store.search("heron")
    assert said == [
        f"SQLite {sqlite3.sqlite_version} here has no index of trigrams (3.34 may have): every message is read"
    ]


def test_with_an_index_long_words_are_looked_up_there(store: ChatStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the other tests of it would be tests of reading every message."""

    def refuse(*_args: object) -> list[int]:
        raise AssertionError("every message was read")

    monkeypatch.setattr(search, "_scanned", refuse)
    assert store.search("her") == []
    with pytest.raises(AssertionError):
        store.search("he")
