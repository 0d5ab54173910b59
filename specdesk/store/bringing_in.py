"""A chat that was exported, as a new one among those that are here."""

from __future__ import annotations

import sqlite3

from specdesk.store.answers import NewMessage, append, insert, insert_chat
from specdesk.store.encoding import stamp
from specdesk.store.reading import ReadChat


def bring_in(db: sqlite3.Connection, chat: ReadChat) -> int:
    """Keep it with its times, branches, settings and traces, within a transaction; returns its number."""
    chat_id = insert_chat(db, chat.title, chat.system, stamp(chat.created), stamp(chat.updated))
    numbers: dict[int | None, int | None] = {None: None}
    for message in chat.messages:
        kept = insert(
            db,
            NewMessage(
                chat_id=chat_id,
                parent=numbers[message.parent],
                role=message.role,
                state=message.state,
                created=stamp(message.created),
                text=message.text,
                error=message.error,
                settings=message.settings,
                models=message.models,
                stats=message.stats,
                left_out=None if message.left_out is None else stamp(message.left_out),
            ),
        )
        append(db, kept, "", message.trace)
        numbers[message.id] = kept
    db.execute("UPDATE chats SET leaf = ? WHERE id = ?", (numbers[chat.leaf], chat_id))
    return chat_id
