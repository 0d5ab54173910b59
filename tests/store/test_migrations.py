"""A file of any earlier state is brought to the newest one, with all that is in it, or left as it was."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from specdesk.errors import StorageError
from specdesk.store import chat_store
from specdesk.store.chat_store import ChatStore
from specdesk.store.database import Database
from specdesk.store.migrations import MIGRATIONS, Migration, migrate
from specdesk.store.values import State
from tests.store.samples import answered, ask, texts

DIGESTS = {
    "chats and messages": "c095de049b4c38f3",
    "full-text index": "dd4b21f43129caf3",
    "traces": "097192008dd3e01b",
    "messages left out": "2d6b73998678154a",
}
"""What is in somebody's file cannot be changed any more: new steps are added at the end."""


def digest(step: Migration) -> str:
    return hashlib.sha256("\n".join(" ".join(statement.split()) for statement in step.statements).encode()).hexdigest()[
        :16
    ]


def test_steps_are_only_ever_added() -> None:
    assert {step.name: digest(step) for step in MIGRATIONS} == DIGESTS


def old_file(path: Path, n_steps: int) -> None:
    """A file as it was behind so many steps, with a chat in it that was cut off while an answer was written."""
    database = Database(path)
    migrate(database, MIGRATIONS[:n_steps], trigram=True)
    with database.writing() as db:
        for statement in (
            "INSERT INTO chats (id, created, updated, title, system) VALUES (5, 1, 2000000, 'Tides', 'Be brief.')",
            """INSERT INTO messages (id, chat_id, parent_id, created, role, state, text)
            VALUES (11, 5, NULL, 1000001, 'user', 'complete', 'Why two herons?')""",
            """INSERT INTO messages (id, chat_id, parent_id, created, role, state, text, settings, models)
            VALUES (12, 5, 11, 1000002, 'assistant', 'writing', '', '{"seed": 1}', '{"target": null}')""",
            "INSERT INTO pieces (message_id, text) VALUES (12, 'Because '), (12, 'storks.')",
            "UPDATE chats SET leaf = 12",
        ):
            db.execute(statement)
        if n_steps > 2:
            lines = bytes.fromhex("789cab562a2e492d50b25230a8050016850383")
            db.execute("INSERT INTO traces (message_id, lines) VALUES (12, ?)", (lines,))
    database.close()


@pytest.mark.parametrize("n_steps", range(1, len(MIGRATIONS) + 1))
def test_upgrade(file: Path, n_steps: int) -> None:
    old_file(file, n_steps)
    with ChatStore.open(pytest.fail, file) as store:
        (chat,) = store.chats()
        assert (chat.id, chat.title, chat.system, chat.updated.timestamp()) == (5, "Tides", "Be brief.", 2)
        asked, said = store.conversation(5)
        assert (asked.id, asked.text, asked.created.microsecond) == (11, "Why two herons?", 1)
        assert (said.text, said.state, said.settings) == ("Because storks.", State.STOPPED, {"seed": 1})
        assert store.trace(12) == ([{"step": 0}] if n_steps > 2 else [])
        assert [hit.message_id for hit in store.search("HERON")] == [11]
        assert [hit.message_id for hit in store.search("because stork")] == [12]
        ask(store, 5, 12, "more herons?", "no")
        assert len(store.search("heron")) == 2
        assert texts(store, 5)[2:] == ["more herons?", "no"]


def test_a_file_is_migrated_once(file: Path) -> None:
    for _ in range(2):
        with ChatStore.open(pytest.fail, file):
            pass
    with closing(sqlite3.connect(file)) as db:
        assert [name for (name,) in db.execute("SELECT name FROM migrations ORDER BY rowid")] == list(DIGESTS)


@pytest.mark.parametrize("n_steps", range(len(MIGRATIONS)))
def test_a_step_that_fails_leaves_the_file_as_it_was(file: Path, n_steps: int) -> None:
    if n_steps:
        old_file(file, n_steps)
    broken = Migration(
        "broken", ("CREATE TABLE first (x)", "UPDATE messages SET text = 'gone'", "CREATE TABLE first (x)")
    )
    database = Database(file)
    before = contents(file)
    with pytest.raises(sqlite3.OperationalError, match="first already exists"):
        migrate(database, (*MIGRATIONS, broken), trigram=True)
    database.close()
    assert contents(file) == before


def contents(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as db:
        return list(db.iterdump())


def test_a_file_of_a_newer_specdesk_is_left_alone(file: Path) -> None:
    with ChatStore.open(pytest.fail, file) as store:
        store.create_chat("t")
    with closing(sqlite3.connect(file)) as db:
        db.execute("INSERT INTO migrations (name) VALUES ('pictures')")
        db.commit()
    before = file.read_bytes()
    with pytest.raises(StorageError, match=r"newer specdesk \(pictures\).*update specdesk"):
        ChatStore.open(pytest.fail, file)
    assert file.read_bytes() == before


def test_a_database_of_another_program_is_left_alone(file: Path) -> None:
    file.parent.mkdir()
    with closing(sqlite3.connect(file)) as db:
        db.execute("CREATE TABLE migrations (name)")
    before = file.read_bytes()
    with pytest.raises(StorageError, match=r"is a database of another program.*move it away"):
        ChatStore.open(pytest.fail, file)
    assert file.read_bytes() == before


def test_sqlite_without_trigrams_and_with_them_in_turn(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages are written by both, and each finds all of them."""
    said: list[str] = []
    for round_, trigram in enumerate((False, True, False, False, True, True)):
        monkeypatch.setattr(chat_store, "has_trigram", lambda trigram=trigram: trigram)
        with ChatStore.open(said.append, file) as store:
            chat = store.create_chat("-").id
            question, _ = ask(store, chat, None, f"heron {round_}", "ok")
            answered(store, question, "herons")
            assert len(store.search("heron")) == 2 * (round_ + 1)
            with closing(sqlite3.connect(file)) as db:
                names = {name for (name,) in db.execute("SELECT name FROM migrations")}
            assert names == {name for name in DIGESTS if trigram or name != "full-text index"}
    assert len(said) == 3
