"""From rows of the file to values, and the statements that ask for them."""

from __future__ import annotations

import sqlite3
from collections.abc import Set

from specdesk.errors import UsageError
from specdesk.store.encoding import table_of, time_of, time_or_none, undamaged
from specdesk.store.tree import Tree
from specdesk.store.values import Chat, ChatMessage, Role, State

_CHATS = """
    SELECT id, title, system, created, updated, deleted, leaf,
        (SELECT count(*) FROM messages WHERE chat_id = chats.id) AS n_messages
    FROM chats
"""


def chat_of(row: sqlite3.Row) -> Chat:
    """A chat."""
    with undamaged(f"chat {row['id']}"):
        return Chat(
            row["id"],
            row["title"],
            row["system"],
            time_of(row["created"]),
            time_of(row["updated"]),
            time_or_none(row["deleted"]),
            row["leaf"],
            row["n_messages"],
        )


def get_chat(db: sqlite3.Connection, chat_id: int) -> Chat:
    """The chat with that number, deleted or not. Raises UsageError if there is none."""
    row = db.execute(f"{_CHATS} WHERE id = ?", (chat_id,)).fetchone()
    if row is None:
        raise UsageError(f"there is no chat {chat_id}")
    return chat_of(row)


def list_chats(db: sqlite3.Connection, *, deleted: bool, limit: int, offset: int) -> list[Chat]:
    """Chats, the one that was used last first."""
    state = "NOT NULL" if deleted else "NULL"
    rows = db.execute(
        f"{_CHATS} WHERE deleted IS {state} ORDER BY updated DESC, id DESC LIMIT ? OFFSET ?", (limit, offset)
    )
    return [chat_of(row) for row in rows]


def list_messages(db: sqlite3.Connection, chat_id: int, abandoned: Set[int]) -> list[ChatMessage]:
    """All messages of a chat in the order in which they joined it, whatever branch they are in.

    Those that are still being written, and are known to be `abandoned`, are stopped.
    """
    rows = db.execute("SELECT * FROM messages WHERE chat_id = ? ORDER BY id", (chat_id,)).fetchall()
    with undamaged(f"chat {chat_id}"):
        tree = Tree((row["id"], row["parent_id"]) for row in rows)
    left_out = {row["id"] for row in rows if row["left_out"] is not None}
    return [_message_of(db, row, tree.siblings(row["id"], left_out), abandoned) for row in rows]


def list_questions(db: sqlite3.Connection, limit: int) -> list[str]:
    """The latest questions of all chats that are not deleted, the oldest of them first."""
    rows = db.execute(
        """
        SELECT messages.text FROM messages JOIN chats ON chats.id = chat_id
        WHERE role = 'user' AND deleted IS NULL ORDER BY messages.id DESC LIMIT ?
        """,
        (limit,),
    ).fetchall()
    return [row["text"] for row in reversed(rows)]


def get_tree(db: sqlite3.Connection, chat_id: int) -> Tree:
    """How the messages of a chat follow each other."""
    rows = db.execute("SELECT id, parent_id FROM messages WHERE chat_id = ? ORDER BY id", (chat_id,))
    with undamaged(f"chat {chat_id}"):
        return Tree((row["id"], row["parent_id"]) for row in rows)


def list_left_out(db: sqlite3.Connection, chat_id: int) -> set[int]:
    """The questions that were deleted from a chat."""
    rows = db.execute("SELECT id FROM messages WHERE chat_id = ? AND left_out IS NOT NULL", (chat_id,))
    return {row["id"] for row in rows}


def get_path(db: sqlite3.Connection, chat_id: int) -> tuple[int, ...]:
    """The visible branch of a chat, from the first message to the one it ends with."""
    leaf, tree = get_chat(db, chat_id).leaf, get_tree(db, chat_id)
    with undamaged(f"chat {chat_id}"):
        return tree.path_to(leaf)


def appended(db: sqlite3.Connection, message_id: int) -> str:
    """What was appended to an answer since it was last finished."""
    rows = db.execute("SELECT text FROM pieces WHERE message_id = ? ORDER BY id", (message_id,))
    return "".join(row["text"] for row in rows)


def _message_of(
    db: sqlite3.Connection, row: sqlite3.Row, siblings: tuple[int, ...], abandoned: Set[int]
) -> ChatMessage:
    with undamaged(f"message {row['id']}"):
        state = State(row["state"])
        if state is State.WRITING and row["id"] in abandoned:
            state = State.STOPPED
        return ChatMessage(
            row["id"],
            row["chat_id"],
            row["parent_id"],
            Role(row["role"]),
            state,
            row["text"] + (appended(db, row["id"]) if state is not State.COMPLETE else ""),
            row["error"],
            time_of(row["created"]),
            table_of(row["settings"]),
            table_of(row["models"]),
            table_of(row["stats"]),
            time_or_none(row["left_out"]),
            siblings,
        )
