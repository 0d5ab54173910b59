"""What can be the matter with the file, the disk and the system. Nothing of the user's is ever destroyed over it."""

from __future__ import annotations

import os
import random
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import pytest

from specdesk.errors import StorageError, UsageError
from specdesk.store import database
from specdesk.store.chat_store import ChatStore
from specdesk.store.values import State
from tests.store.samples import Clock, ask, texts


@pytest.mark.parametrize("umask", [0, 0o022, 0o077])
def test_chats_are_readable_by_their_owner_alone(file: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        with ChatStore.open(pytest.fail, file) as store:
            store.begin_answer(store.add_question(store.create_chat("t").id, None, "q"), {}, {})
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in file.parent.iterdir()}
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(("chats.db", "chats.db-wal", "chats.db-shm", "chats.db-writing-2"), 0o600)


def test_how_the_file_is_kept(store: ChatStore, file: Path) -> None:
    with store._database.reading() as db:
        settings = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        found = [db.execute(f"PRAGMA {setting}").fetchone()[0] for setting in settings]
    assert found == ["wal", 1, 1, 10_000]


@pytest.mark.parametrize(
    "content", [b"not a database, but somebody's only copy of something " * 100, b"short", b"\0" * 5000]
)
def test_what_is_no_database_is_left_alone(file: Path, content: bytes) -> None:
    file.parent.mkdir()
    file.write_bytes(content)
    with pytest.raises(StorageError) as refused:
        ChatStore.open(pytest.fail, file)
    assert str(file) in refused.value.message
    assert "move it away" in refused.value.hint
    assert refused.value.exit_code == 5
    assert file.read_bytes() == content
    assert list(file.parent.iterdir()) == [file]


def test_an_empty_file_is_a_beginning(file: Path) -> None:
    file.parent.mkdir()
    file.touch()
    with ChatStore.open(pytest.fail, file) as store:
        store.create_chat("t")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_file_that_was_cut_off(file: Path, clock: Clock, share: float) -> None:
    with ChatStore.open(pytest.fail, file, clock) as store:
        for number in range(50):
            ask(store, store.create_chat(f"t{number}").id, None, "q" * 500, "a" * 1000)
    data = file.read_bytes()[: int(file.stat().st_size * share)]
    file.write_bytes(data)
    with pytest.raises(StorageError, match="is damaged"):
        read_all(file)
    assert file.read_bytes()[: len(data)] == data


def read_all(file: Path) -> None:
    with ChatStore.open(pytest.fail, file) as store:
        for chat in store.chats():
            store.export(chat.id)
        store.search("qqq")


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE chats SET leaf = 77",
        "UPDATE messages SET parent_id = 4 WHERE id = 1",
        "UPDATE messages SET parent_id = 77 WHERE id = 3",
    ],
)
def test_branches_that_are_damaged_are_an_error(file: Path, damage: str) -> None:
    """Bug: to delete a message, or to show one, ended the chat there. Messages that follow in a circle have no end."""
    with ChatStore.open(pytest.fail, file) as store:
        chat = store.create_chat("t").id
        _, answer = ask(store, chat, None, "q1", "a1")
        question, _ = ask(store, chat, answer, "q2", "a2")
        with closing(sqlite3.connect(file)) as db, db:
            db.execute(damage)  # no connection but ours checks what refers to what
        for attempt in (
            lambda: store.conversation(chat),
            lambda: store.leave_out(question),
            lambda: store.show(question),
        ):
            with pytest.raises(StorageError, match=f"chat {chat} is damaged in the file of chats: "):
                attempt()


@pytest.mark.parametrize("seed", range(150))
def test_damaged_bytes_are_an_error_or_go_unnoticed(file: Path, damaged_source: bytes, seed: int) -> None:
    """But no endless loop, and no nonsense. Where a name in the schema is hit, SQLite does not know the column."""
    chance = random.Random(seed)
    data = bytearray(damaged_source)
    start = chance.randrange(len(data))
    for position in range(start, min(len(data), start + chance.choice([1, 8, 200]))):
        data[position] = chance.randrange(256)
    file.parent.mkdir()
    file.write_bytes(data)
    with suppress(StorageError, sqlite3.OperationalError), ChatStore.open(pytest.fail, file) as store:
        chats = store.chats()
        uses: list[Callable[[], object]] = [
            *(partial(store.export, chat.id) for chat in chats),
            *(partial(store.conversation, chat.id) for chat in chats),
            lambda: store.search("heron"),
            lambda: store.search("he"),
            lambda: ask(store, store.create_chat("new").id, None, "q", "a"),
            lambda: store.purge(0),
        ]
        for use in uses:
            with suppress(StorageError, UsageError, sqlite3.OperationalError):
                use()


@pytest.fixture(scope="module")
def damaged_source(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A file with a bit of everything in it, to be damaged."""
    path = tmp_path_factory.mktemp("whole") / "chats.db"
    with ChatStore.open(pytest.fail, path) as store:
        for number in range(4):
            chat = store.create_chat(f"chat {number}", "s").id
            question, answer = ask(store, chat, None, "a heron?", "two herons")
            store.add_question(chat, answer, "and?")
            answer = store.begin_answer(question, {"seed": 1}, {})
            store.append(answer, "storks " * 100, [{"step": step} for step in range(50)])
            store.finish(answer, State.STOPPED)
        store.delete(chat)
    return path.read_bytes()


def test_a_full_disk(store: ChatStore) -> None:
    chat = store.create_chat("t").id
    question, _ = ask(store, chat, None, "q", "a")
    answer = store.begin_answer(question, {}, {})
    store.append(answer, "half")
    with store._database.reading() as db:
        (n_pages,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count = {n_pages + 1}")
    for use in (
        lambda: store.append(answer, "x" * 100_000),
        lambda: store.add_question(chat, None, "x" * 100_000),
        lambda: store.rename(chat, "x" * 100_000),
    ):
        with pytest.raises(StorageError, match=r"no room left.*make room, and try again"):
            use()
    # What was kept is there, and it goes on when there is room.
    assert texts(store, chat) == ["q", "half"]
    with store._database.reading() as db:
        db.execute("PRAGMA max_page_count = 1000000")
    store.append(answer, " and half")
    store.finish(answer, State.COMPLETE)
    assert texts(store, chat) == ["q", "half and half"]


def test_a_file_that_may_not_be_written(store: ChatStore) -> None:
    chat = store.create_chat("t").id
    with store._database.reading() as db:
        db.execute("PRAGMA query_only = ON")
    with pytest.raises(StorageError, match=r"cannot be written: attempt to write a readonly database.*right to write"):
        store.rename(chat, "u")
    assert store.chat(chat).title == "t"
    with store._database.reading() as db:
        db.execute("PRAGMA query_only = OFF")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_may_not_be_written(file: Path) -> None:
    with ChatStore.open(pytest.fail, file) as store:
        store.create_chat("t")
    file.chmod(0o400)
    file.parent.chmod(0o500)
    with pytest.raises(StorageError, match="right to write"):
        ChatStore.open(pytest.fail, file)
    file.parent.chmod(0o700)


@pytest.mark.parametrize("path", ["/dev/null/chats.db", "/proc/specdesk/chats.db", "/dev/null", "/", "/" + "x" * 300])
def test_an_impossible_place(path: str) -> None:
    with pytest.raises(StorageError, match="SPECDESK_HOME names another directory"):
        ChatStore.open(pytest.fail, Path(path))


def test_a_link_to_nowhere(tmp_path: Path) -> None:
    link = tmp_path / "chats.db"
    link.symlink_to(tmp_path / "nowhere" / "chats.db")
    with pytest.raises(StorageError):
        ChatStore.open(pytest.fail, link)


def test_another_program_that_holds_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_BUSY_S", 0.05)
    with ChatStore.open(pytest.fail, file) as store:
        chat = store.create_chat("t").id
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StorageError, match="another program has held it"):
                store.rename(chat, "u")
            assert store.chat(chat).title == "t"
            other.execute("ROLLBACK")
        store.rename(chat, "u")


def test_who_is_about_to_write_is_the_only_one(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else of two that read first and write then, one is refused, however long it would wait."""
    monkeypatch.setattr(database, "_BUSY_S", 0.05)
    with ChatStore.open(pytest.fail, file) as store, ChatStore.open(pytest.fail, file) as other:
        with store._database.writing(), pytest.raises(StorageError, match="another program has held it"):
            other.create_chat("t")
        other.create_chat("t")


def test_a_text_that_rotted_costs_a_character(store: ChatStore) -> None:
    question = store.add_question(store.create_chat("t").id, None, "a?b")
    with store._database.writing() as db:
        db.execute("UPDATE messages SET text = CAST(x'61FF62' AS TEXT) WHERE id = ?", (question,))
    assert texts(store, 1) == ["a\ufffdb"]


def test_a_bug_keeps_its_traceback(store: ChatStore) -> None:
    chat = store.create_chat("t").id

    def half_done() -> None:
        with store._database.writing() as db:
            db.execute("UPDATE chats SET title = 'changed'")
            db.execute("SELECT bogus")

    with pytest.raises(sqlite3.OperationalError):
        half_done()
    with pytest.raises(ValueError, match="not JSON compliant"):
        store.begin_answer(store.add_question(chat, None, "q"), {"x": float("nan")}, {})
    # Neither is half done, and the store is as usable as before.
    assert (store.chat(chat).title, store.chat(chat).n_messages) == ("t", 1)
