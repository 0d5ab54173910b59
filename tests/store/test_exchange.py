"""A chat that is taken out and brought in again is the same, to the last byte; what is no such chat is refused."""

from __future__ import annotations

import json
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from specdesk.errors import StorageError, UsageError
from specdesk.store.chat_store import ChatStore
from specdesk.store.exchange import write_file
from specdesk.store.markdown import markdown_of
from specdesk.store.values import State
from tests.store.samples import MODELS, ODD_TEXTS, SETTINGS, Clock, answered, ask, texts

STEP = {
    "step": 0,
    "lookahead_reason": "expected 1.25x",
    "acceptance_rate": None,
    "drafted": [{"id": 1, "text": "\ufffd", "q": 0.1 + 0.2, "p": 5e-324}],
    "target_s": 1e22,
}


def full_chat(store: ChatStore, clock: Clock) -> int:
    """One with everything: branches, odd texts, all states, traces, and a switch to an earlier branch."""
    chat = store.create_chat(ODD_TEXTS[5], "".join(ODD_TEXTS)).id
    last = None
    for text in ODD_TEXTS:
        clock.now += timedelta(minutes=7)
        question, last = ask(store, chat, last, text, text)
    answer = store.begin_answer(question, {**SETTINGS, "text": "\0\ud800"}, MODELS)
    for number in range(3):
        store.append(answer, f"{number}\r\n", [{**STEP, "step": number}])
    store.finish(answer, State.FAILED, {"tokens_per_s": 0.1}, error="\x1b[31mout of memory")
    stopped = store.begin_answer(question, {}, {})
    store.finish(stopped, State.STOPPED)
    store.add_question(chat, stopped, "go on")
    store.add_question(chat, None, "edited")
    store.switch_branch(answer)
    return chat


def as_bytes(document: object) -> bytes:
    return json.dumps(document).encode()


def test_a_round_trip_keeps_everything(store: ChatStore, clock: Clock, tmp_path: Path) -> None:
    before = full_chat(store, clock)
    document = store.export(before)
    with ChatStore.open(pytest.fail, tmp_path / "elsewhere.db") as other:
        other.create_chat("numbers are not the same here")
        ask(other, 1, None, "q", "a")
        chat = other.import_chat(as_bytes(document))
        assert other.export(chat.id) == document
        # The document may have left something out in both: compare what is read from the stores.
        old, new = store.messages(before), other.messages(chat.id)
        numbers = {None: None} | {one.id: two.id for one, two in zip(old, new, strict=True)}
        for one, two in zip(old, new, strict=True):
            assert two.parent == numbers[one.parent]
            assert two.siblings == tuple(numbers[sibling] for sibling in one.siblings)
            for name in ("role", "state", "text", "error", "created", "settings", "models", "stats"):
                assert getattr(two, name) == getattr(one, name)
            assert as_bytes(other.trace(two.id)) == as_bytes(store.trace(one.id))
        assert texts(other, chat.id) == texts(store, before)
        was = store.chat(before)
        assert (chat.title, chat.system, chat.created, chat.updated) == (
            was.title,
            was.system,
            was.created,
            was.updated,
        )
        assert (chat.deleted, chat.n_messages, chat.leaf) == (None, was.n_messages, numbers[was.leaf])
        assert [hit.message_id for hit in other.search("edited")] == [new[-1].id]


def test_every_key_is_explained(store: ChatStore, clock: Clock) -> None:
    explained = (
        (Path(__file__).parents[2] / "docs" / "chats.md").read_text("utf-8").partition("## The exported JSON")[2]
    )
    document = store.export(full_chat(store, clock))
    for key in (*document, *document["messages"][0], *MODELS, *MODELS["target"]):
        assert f"`{key}`" in explained
    for state in State:
        assert f"`{state}`" in explained


def test_a_chat_without_messages(store: ChatStore) -> None:
    document = store.export(store.create_chat("t").id)
    assert (document["leaf"], document["messages"]) == (None, [])
    assert store.export(store.import_chat(as_bytes(document)).id) == document


def test_a_chat_that_messages_were_deleted_from(store: ChatStore) -> None:
    """Bug: what it exported could not be imported."""
    chat = store.create_chat("t").id
    first, answer = ask(store, chat, None, "q1", "a1")
    second, _ = ask(store, chat, answer, "q2", "a2")
    for message, left in ((second, ["q1", "a1"]), (first, [])):
        store.leave_out(message)
        document = store.export(chat)
        again = store.import_chat(as_bytes(document)).id
        assert store.export(again) == document
        assert (texts(store, again), len(store.messages(again))) == (left, 4)


def test_what_was_deleted_stays_out_of_sight_where_it_is_imported(store: ChatStore) -> None:
    chat = store.create_chat("t").id
    _first, answer = ask(store, chat, None, "q1", "a1")
    second, _ = ask(store, chat, answer, "q2", "a2")
    store.leave_out(second)
    again = store.import_chat(as_bytes(store.export(chat))).id
    (copied, _, left_out, _) = store.messages(again)
    assert left_out.left_out is not None
    store.add_question(again, None, "other")
    store.switch_branch(copied.id)
    assert texts(store, again) == ["q1", "a1"]


def test_what_an_older_specdesk_exported(store: ChatStore, clock: Clock) -> None:
    document = store.export(full_chat(store, clock))
    older = document | {
        "version": 1,
        "messages": [
            {key: value for key, value in message.items() if key != "left_out"} for message in document["messages"]
        ],
    }
    assert store.export(store.import_chat(as_bytes(older)).id) == document


def test_importing_twice_makes_two_chats(store: ChatStore, clock: Clock) -> None:
    document = as_bytes(store.export(full_chat(store, clock)))
    ids = {store.import_chat(document).id for _ in range(2)}
    assert len(ids) == 2
    assert len(store.chats()) == 3


def test_what_is_still_written_is_imported_as_stopped(store: ChatStore) -> None:
    chat = store.create_chat("t").id
    store.append(store.begin_answer(store.add_question(chat, None, "q"), {}, {}), "half", [STEP])
    document = store.export(chat)
    assert (document["messages"][1]["state"], document["messages"][1]["text"]) == ("writing", "half")
    said = store.conversation(store.import_chat(as_bytes(document)).id)[1]
    assert (said.state, said.text, store.trace(said.id)) == (State.STOPPED, "half", [STEP])
    with store._database.reading() as db:
        assert [row["id"] for row in db.execute("SELECT id FROM messages WHERE state = 'writing'")] == [said.id - 2]


def test_times_may_have_any_offset(store: ChatStore) -> None:
    document = store.export(store.create_chat("t").id)
    document["created"] = "1969-07-20T22:17:40.000001+02:00"
    chat = store.import_chat(as_bytes(document))
    assert chat.created == datetime.fromisoformat("1969-07-20T20:17:40.000001+00:00")
    assert store.export(chat.id)["created"] == "1969-07-20T20:17:40.000001+00:00"


def change(path: str, value: object) -> Callable[[dict[str, Any]], None]:
    """Set what `path`, such as "messages 1 role", leads to."""

    def apply(document: Any) -> None:
        *way, last = [int(part) if part.isdecimal() else part for part in path.split()]
        for part in way:
            document = document[part]
        document[last] = value

    return apply


def without(key: str, place: str = "") -> Callable[[Any], None]:
    """Take a key away."""

    def apply(document: Any) -> None:
        for part in place.split():
            document = document[int(part) if part.isdecimal() else part]
        del document[key]

    return apply


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (change("format", "other"), 'format must be "specdesk chat" (import reads what export --format json wrote)'),
        (change("version", 3), "version must be 1 to 2, not 3 (a newer specdesk may know it)"),
        (change("version", 0), "version must be 1 to 2, not 0 (a newer specdesk may know it)"),
        (change("version", True), "version must be a whole number, not True"),
        (change("title", None), "title must be text, not null"),
        (change("system", ["x"]), "system must be text, not a list"),
        (change("created", "yesterday"), "created must be a time with its offset"),
        (change("updated", "2026-01-31T12:00:00"), "updated must be a time with its offset"),
        (change("created", "0001-01-01T00:00:00+14:00"), "created must be a time with its offset"),
        (change("created", "0001-01-01T12:00:00+00:00"), "created must be a time with its offset"),
        (change("updated", "9999-12-31T12:00:00+00:00"), "updated must be a time with its offset"),
        (change("messages", {}), "messages must be a list, not an object"),
        (change("extra", 1), "unknown key 'extra'"),
        (without("title"), "title is missing"),
        (without("leaf"), "leaf is missing"),
        (change("leaf", 77), "leaf must be the id of a message, or null where none is shown, not 77"),
        (change("leaf", 1), "leaf must be the id of an answer, or of a question that has none, not 1"),
        (change("messages 1", 3), "messages[1]: must be an object, not 3"),
        (without("text", "messages 1"), "messages[1]: text is missing"),
        (without("trace", "messages 0"), "messages[0]: trace is missing"),
        (change("messages 1 text", 3), "messages[1]: text must be text, not 3"),
        (change("messages 1 text", "x" * 10_000), ""),
        (change("messages 1 created", "x" * 10_000), "messages[1]: created must be a time with its offset"),
        (change("messages 1 extra", 1), "messages[1]: unknown key 'extra'"),
        (change("messages 1 role", "robot"), "messages[1]: role must be user or assistant, not 'robot'"),
        (change("messages 1 state", "done"), "messages[1]: state must be complete or writing or stopped or failed"),
        (change("messages 0 state", "stopped"), "messages[0]: state must be complete in a message of the user"),
        (change("messages 1 id", 1), "messages[1]: id 1 is there twice"),
        (change("messages 1 parent", 2), "messages[1]: parent must be the id of a message before it, not 2"),
        (change("messages 1 parent", 3), "messages[1]: parent must be the id of a message before it, not 3"),
        (change("messages 1 parent", None), "messages[1]: role must be user here"),
        (change("messages 1 role", "user"), "messages[1]: role must be assistant here"),
        (change("messages 1 settings", "x"), "messages[1]: settings must be an object, not 'x'"),
        (change("messages 1 stats", {"x": float("nan")}), "messages[1]: stats cannot be kept"),
        (change("messages 1 trace", [{}, 5]), "messages[1]: trace[1] must be an object"),
        (change("messages 1 trace", [{"x": float("inf")}]), "messages[1]: trace cannot be kept"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(store: ChatStore, spoil: Callable[[Any], None], said: str) -> None:
    chat = store.create_chat("t", "s").id
    _, answer = ask(store, chat, None, "q", "a")
    store.add_question(chat, answer, "q")
    document = store.export(chat)
    spoil(document)
    if not said:
        store.import_chat(as_bytes(document))
        return
    with pytest.raises(UsageError) as refused:
        store.import_chat(as_bytes(document))
    assert str(refused.value).startswith(said)
    assert len(str(refused.value)) < 300
    assert [kept.id for kept in store.chats()] == [chat]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "not JSON: Expecting value"),
        (b"# A chat\n", "not JSON: Expecting value"),
        (b'{"format": "specdesk chat"', "not JSON: Expecting ',' delimiter"),
        (b"\xff\xfe\xfd", "not JSON: "),
        (b"\x80abc", "not JSON: "),
        (b"[" * 200_000, "nested too deeply"),
        (b"9" * 5000, "not JSON: Exceeds the limit"),
        (b"[]", "must be an object, not a list"),
        (b"null", "must be an object, not null"),
        (b"{}", "format is missing"),
        (b'{"messages": []}', "format is missing"),
    ],
)
def test_what_is_no_chat_at_all(store: ChatStore, data: bytes, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        store.import_chat(data)
    assert str(refused.value).startswith(said)
    assert store.chats() == []


def test_a_number_no_float_holds_is_refused(store: ChatStore) -> None:
    chat = store.create_chat("t").id
    ask(store, chat, None, "q", "a")
    data = as_bytes(store.export(chat)).replace(b"0.3333333333333333", b"1e999")
    with pytest.raises(UsageError, match=r"messages\[1\]: stats cannot be kept"):
        store.import_chat(data)


@contextmanager
def small_disk() -> Iterator[None]:
    """No file may have more than 4096 bytes: not the one either that this run is written to, if it is one."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_disk_that_fills_up_leaves_what_was_there(tmp_path: Path, overwrite: bool) -> None:
    """Bug: the file that was to be overwritten was gone, and half of a new one stood in its place."""
    old, new = tmp_path / "old.md", tmp_path / "new.md"
    old.write_text("mine")
    with small_disk(), pytest.raises(StorageError, match="cannot write"):
        write_file(old if overwrite else new, "x" * 10_000, overwrite=overwrite)
    assert [path.name for path in tmp_path.glob("*.*")] == ["old.md"]
    assert old.read_text() == "mine"


def test_what_is_overwritten_keeps_its_rights_and_its_links(tmp_path: Path) -> None:
    old, link = tmp_path / "old.md", tmp_path / "link.md"
    old.write_text("mine")
    old.chmod(0o640)
    link.symlink_to(old)
    write_file(link, "yours\r\n\ud800", overwrite=True)
    assert link.is_symlink()
    assert (old.read_bytes(), old.stat().st_mode & 0o777) == (b"yours\r\n\\ud800", 0o640)
    with pytest.raises(FileExistsError):
        write_file(link, "again", overwrite=False)


def test_a_link_to_a_file_that_is_not_there_yet_can_be_written_over(tmp_path: Path) -> None:
    """Bug: it was said to be there already, also to whoever had agreed to overwrite it."""
    link = tmp_path / "link.md"
    link.symlink_to(tmp_path / "not yet.md")
    with pytest.raises(FileExistsError):
        write_file(link, "text", overwrite=False)
    write_file(link, "text", overwrite=True)
    assert link.is_symlink()
    assert link.read_text() == "text"


def test_a_long_name_in_any_script_can_be_written_over(tmp_path: Path) -> None:
    """Bug: what it was written to first had a name longer than names may be."""
    path = tmp_path / ("漢" * 80 + ".md")
    path.write_text("mine")
    write_file(path, "yours", overwrite=True)
    assert path.read_text() == "yours"


def test_a_device_is_written_to_and_stays() -> None:
    write_file(Path("/dev/null"), "text", overwrite=True)
    assert Path("/dev/null").is_char_device()


def test_markdown(store: ChatStore) -> None:
    chat = store.create_chat("Two\ntides", "Be brief.\n\nAnswer in code.").id
    question, _ = ask(store, chat, None, "Why?", "no")
    answer = answered(store, question, "Because:\n\n```python\nmoon()\n```\n")
    follow_up = store.add_question(chat, answer, "\nMore, with [red]this[/red] and *that*")
    stopped = store.begin_answer(follow_up, {}, {"target": MODELS["target"], "draft": None})
    store.append(stopped, "~~~~\n```\nhalf")
    store.finish(stopped, State.STOPPED)
    failed = store.begin_answer(store.add_question(chat, stopped, "And?"), {}, {})
    store.finish(failed, State.FAILED, error="out of memory")
    assert (
        markdown_of(store.chat(chat), store.conversation(chat))
        == """\
# Two tides

System prompt:

> Be brief.
>
> Answer in code.

## You

Why?

## Big 7B, drafted by Small 1B

Because:

```python
moon()
```

## You

More, with [red]this[/red] and *that*

## Big 7B

~~~~
```
half
~~~~

*Stopped before its end.*

## You

And?

## Answer

*Failed: out of memory*
"""
    )


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("```\nx", "\n```"),
        ("```py\nx", "\n```"),
        ("````\n```\nx", "\n````"),
        ("~~~ a`b\nx", "\n~~~"),
        ("  ```\nx\n ``", "\n```"),
        ("```\nx\n``` y", "\n```"),
        ("```\nx\n```\n```\ny", "\n```"),
        ("```\nx\n```", ""),
        ("```\nx\n`````  ", ""),
        ("``` a`b", ""),
        ("    ```\nx", ""),
        ("`` `x", ""),
        ("a ``` b", ""),
    ],
)
def test_an_open_block_of_code_is_closed(store: ChatStore, text: str, end: str) -> None:
    """By the rules of CommonMark; else it would take what follows with it."""
    chat = store.create_chat("t").id
    store.add_question(chat, None, text)
    assert markdown_of(store.chat(chat), store.conversation(chat)) == f"# t\n\n## You\n\n{text}{end}\n"
