"""How the file of chats came to be as it is: steps that are only ever added to, each recorded in it by its name."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from specdesk.errors import StorageError
from specdesk.store.database import Database

APPLICATION_ID: Final = 0x53504443
"""SPDC: by it a file of chats is told from the databases of other programs."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One step."""

    name: str
    statements: tuple[str, ...]
    retired_by: tuple[str, ...] = ()
    """Of a step that takes an index of trigrams: what undoes as much of it as hinders an SQLite that has none. There it
    is not taken, or taken back, and waits for one that has."""


MIGRATIONS: Final = (
    Migration(
        "chats and messages",
        (
            """
            CREATE TABLE chats (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                created INTEGER NOT NULL,
                updated INTEGER NOT NULL,
                deleted INTEGER,
                leaf INTEGER REFERENCES messages (id),
                title TEXT NOT NULL,
                system TEXT
            )
            """,
            """
            CREATE TABLE messages (
                id INTEGER PRIMARY KEY AUTOINCREMENT,
                chat_id INTEGER NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
                parent_id INTEGER REFERENCES messages (id),
                created INTEGER NOT NULL,
                role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
                state TEXT NOT NULL CHECK (state IN ('complete', 'writing', 'stopped', 'failed')),
                error TEXT,
                settings TEXT,
                models TEXT,
                stats TEXT,
                text TEXT NOT NULL
            )
            """,
            # What was appended to an answer that is being written; it joins `text` when the answer is finished.
            """
            CREATE TABLE pieces (
                id INTEGER PRIMARY KEY,
                message_id INTEGER NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
                text TEXT NOT NULL
            )
            """,
            "CREATE INDEX chats_by_update ON chats (updated)",
            "CREATE INDEX chats_by_leaf ON chats (leaf)",
            "CREATE INDEX messages_by_chat ON messages (chat_id)",
            "CREATE INDEX messages_by_parent ON messages (parent_id)",
            "CREATE INDEX messages_by_time ON messages (created)",
            "CREATE INDEX messages_being_written ON messages (id) WHERE state = 'writing'",
            "CREATE INDEX pieces_by_message ON pieces (message_id)",
        ),
    ),
    Migration(
        "full-text index",
        (
            """
            CREATE VIRTUAL TABLE IF NOT EXISTS full_text
            USING fts5 (text, content = 'messages', content_rowid = 'id', tokenize = 'trigram')
            """,
            """
            CREATE TRIGGER full_text_insert AFTER INSERT ON messages BEGIN
                INSERT INTO full_text (rowid, text) VALUES (new.id, new.text);
            END
            """,
            """
            CREATE TRIGGER full_text_delete AFTER DELETE ON messages BEGIN
                INSERT INTO full_text (full_text, rowid, text) VALUES ('delete', old.id, old.text);
            END
            """,
            """
            CREATE TRIGGER full_text_update AFTER UPDATE OF text ON messages BEGIN
                INSERT INTO full_text (full_text, rowid, text) VALUES ('delete', old.id, old.text);
                INSERT INTO full_text (rowid, text) VALUES (new.id, new.text);
            END
            """,
            "INSERT INTO full_text (full_text) VALUES ('rebuild')",
        ),
        # No message could be written while the index wants its share.
        retired_by=("DROP TRIGGER full_text_insert", "DROP TRIGGER full_text_delete", "DROP TRIGGER full_text_update"),
    ),
    Migration(
        "traces",
        (
            # A row for each append: lines of JSON, compressed.
            """
            CREATE TABLE traces (
                id INTEGER PRIMARY KEY,
                message_id INTEGER NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
                lines BLOB NOT NULL
            )
            """,
            "CREATE INDEX traces_by_message ON traces (message_id)",
        ),
    ),
    # When a question was deleted from its conversation, with what is behind it.
    Migration("messages left out", ("ALTER TABLE messages ADD COLUMN left_out INTEGER",)),
)


def migrate(database: Database, migrations: tuple[Migration, ...] = MIGRATIONS, *, trigram: bool) -> None:
    """Bring the file to the newest state, in one transaction: it is changed as a whole or not at all.

    Raises: StorageError for a database of another program, for a file of a newer specdesk, and where the disk refuses.
    """
    wanted = [step for step in migrations if trigram or not step.retired_by]
    known = {step.name for step in migrations}
    with database.reading() as db:
        applied = _applied(db, database.path, known)
    database.use_wal()
    if applied == {step.name for step in wanted}:
        return
    with database.writing() as db:
        # Another specdesk may have been quicker.
        applied = _applied(db, database.path, known)
        if not applied:
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute("CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY)")
        for step in wanted:
            if step.name not in applied:
                _apply(db, step)
        for step in migrations:
            if step.name in applied and step not in wanted:
                _retire(db, step)


def _apply(db: sqlite3.Connection, step: Migration) -> None:
    for statement in step.statements:
        db.execute(statement)
    db.execute("INSERT INTO migrations (name) VALUES (?)", (step.name,))


def _retire(db: sqlite3.Connection, step: Migration) -> None:
    for statement in step.retired_by:
        db.execute(statement)
    db.execute("DELETE FROM migrations WHERE name = ?", (step.name,))


def _applied(db: sqlite3.Connection, path: Path, known: set[str]) -> set[str]:
    """The names of the steps that were taken. Raises StorageError for a file that this program does not know."""
    (application_id,) = db.execute("PRAGMA application_id").fetchone()
    (n_tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application_id == 0 and n_tables == 0:
        return set()
    if application_id != APPLICATION_ID:
        raise StorageError(f"{path} is a database of another program", "move it away, and specdesk begins a new one")
    applied = {name for (name,) in db.execute("SELECT name FROM migrations")}
    if newer := applied - known:
        raise StorageError(
            f"{path} was written by a newer specdesk ({', '.join(sorted(newer))})",
            "update specdesk, or name another directory with SPECDESK_HOME",
        )
    return applied
