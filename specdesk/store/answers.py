"""Messages as they join a chat: questions, and answers piece by piece. Everything here happens within a transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from specdesk.errors import UsageError
from specdesk.store.encoding import encoded, encoded_or_none, json_or_none, packed, undamaged, unpacked
from specdesk.store.rows import appended, get_chat, get_tree, list_left_out
from specdesk.store.values import Role, State


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage:
    """A message that is about to join a chat."""

    chat_id: int
    parent: int | None
    role: Role
    state: State
    created: int
    """A stamp."""
    text: str = ""
    error: str | None = None
    settings: dict[str, Any] | None = None
    models: dict[str, Any] | None = None
    stats: dict[str, Any] | None = None
    left_out: int | None = None
    """A stamp."""


def insert(db: sqlite3.Connection, message: NewMessage) -> int:
    """Put it behind its parent; returns its number."""
    db.execute(
        """
        INSERT INTO messages (chat_id, parent_id, role, state, created, text, error, settings, models, stats, left_out)
        VALUES (?, ?, ?, ?, ?, CAST(? AS TEXT), CAST(? AS TEXT), ?, ?, ?, ?)
        """,
        (
            message.chat_id,
            message.parent,
            message.role,
            message.state,
            message.created,
            encoded(message.text),
            encoded_or_none(message.error),
            *(json_or_none(table) for table in (message.settings, message.models, message.stats)),
            message.left_out,
        ),
    )
    return _new_row(db)


def insert_chat(db: sqlite3.Connection, title: str, system: str | None, created: int, updated: int) -> int:
    """A chat without messages; returns its number."""
    db.execute(
        "INSERT INTO chats (title, system, created, updated) VALUES (CAST(? AS TEXT), CAST(? AS TEXT), ?, ?)",
        (encoded(title), encoded_or_none(system), created, updated),
    )
    return _new_row(db)


def add_question(db: sqlite3.Connection, chat_id: int, parent: int | None, text: str, now: int) -> int:
    """A complete message of the user, which is shown from now on. Raises UsageError where none can stand."""
    get_chat(db, chat_id)
    if parent is not None and place_of(db, parent) != (chat_id, Role.ASSISTANT):
        raise UsageError(f"message {parent} is no answer of chat {chat_id}")
    question = NewMessage(chat_id=chat_id, parent=parent, role=Role.USER, state=State.COMPLETE, created=now, text=text)
    question_id = insert(db, question)
    _show(db, chat_id, question_id, now)
    return question_id


def begin(db: sqlite3.Connection, question_id: int, settings: dict[str, Any], models: dict[str, Any], now: int) -> int:
    """An answer without text, which is shown from now on. Raises UsageError where none can stand."""
    chat_id, role = place_of(db, question_id)
    if role is not Role.USER:
        raise UsageError(f"message {question_id} is no question")
    answer = NewMessage(
        chat_id=chat_id,
        parent=question_id,
        role=Role.ASSISTANT,
        state=State.WRITING,
        created=now,
        settings=settings,
        models=models,
    )
    answer_id = insert(db, answer)
    _show(db, chat_id, answer_id, now)
    return answer_id


def _show(db: sqlite3.Connection, chat_id: int, leaf: int, now: int) -> None:
    """The visible conversation ends with this message from now on. A chat that is gone on with is not deleted."""
    db.execute("UPDATE chats SET leaf = ?, updated = ?, deleted = NULL WHERE id = ?", (leaf, now, chat_id))


def place_of(db: sqlite3.Connection, message_id: int) -> tuple[int, Role]:
    """In which chat a message is, and whose it is. Raises UsageError if there is none with that number."""
    row = db.execute("SELECT chat_id, role FROM messages WHERE id = ?", (message_id,)).fetchone()
    if row is None:
        raise UsageError(f"there is no message {message_id}", "its chat may have been purged meanwhile")
    with undamaged(f"message {message_id}"):
        return row["chat_id"], Role(row["role"])


def switch_branch(db: sqlite3.Connection, chat_id: int, message_id: int) -> None:
    """Show the branch through a message, and behind it the newest one each time that is not left out."""
    tree = get_tree(db, chat_id)
    with undamaged(f"chat {chat_id}"):
        shown = [(step,) for step in tree.path_to(message_id)]
    db.executemany("UPDATE messages SET left_out = NULL WHERE id = ? AND left_out IS NOT NULL", shown)
    leaf = tree.newest_leaf(message_id, list_left_out(db, chat_id))
    db.execute("UPDATE chats SET leaf = ? WHERE id = ?", (leaf, chat_id))


def append(db: sqlite3.Connection, answer_id: int, text: str, trace: Sequence[dict[str, Any]]) -> None:
    """Add to an answer, at the cost of what is added."""
    if text:
        db.execute("INSERT INTO pieces (message_id, text) VALUES (?, CAST(? AS TEXT))", (answer_id, encoded(text)))
    if trace:
        db.execute("INSERT INTO traces (message_id, lines) VALUES (?, ?)", (answer_id, packed(trace)))


def reopen(db: sqlite3.Connection, answer_id: int, *, abandoned: bool) -> None:
    """More is going to be appended to an answer that has ended, or was abandoned. Raises UsageError for any other."""
    _chat_id, role = place_of(db, answer_id)
    (state,) = db.execute("SELECT state FROM messages WHERE id = ?", (answer_id,)).fetchone()
    if role is not Role.ASSISTANT or (state == State.WRITING and not abandoned):
        raise UsageError(f"message {answer_id} is no answer that has ended")
    db.execute("UPDATE messages SET state = 'writing', error = NULL WHERE id = ?", (answer_id,))


def close(
    db: sqlite3.Connection, answer_id: int, state: State, stats: dict[str, Any] | None, error: str | None
) -> None:
    """Nothing will be appended any more: the text is put together."""
    (before,) = db.execute("SELECT text FROM messages WHERE id = ?", (answer_id,)).fetchone()
    db.execute(
        """
        UPDATE messages SET state = ?, stats = ?, error = CAST(? AS TEXT), text = CAST(? AS TEXT) WHERE id = ?
        """,
        (state, json_or_none(stats), encoded_or_none(error), encoded(before + appended(db, answer_id)), answer_id),
    )
    db.execute("DELETE FROM pieces WHERE message_id = ?", (answer_id,))


def unfinished(db: sqlite3.Connection) -> set[int]:
    """The answers that are being written, or were when their program went away."""
    return {row["id"] for row in db.execute("SELECT id FROM messages WHERE state = 'writing'")}


def trace_of(db: sqlite3.Connection, message_id: int) -> list[dict[str, Any]]:
    """The lines of an answer's trace, the first step first."""
    rows = db.execute("SELECT lines FROM traces WHERE message_id = ? ORDER BY id", (message_id,))
    with undamaged(f"the trace of message {message_id}"):
        return [line for row in rows for line in unpacked(row["lines"])]


def _new_row(db: sqlite3.Connection) -> int:
    (number,) = db.execute("SELECT last_insert_rowid()").fetchone()
    return int(number)
