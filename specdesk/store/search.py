"""Where a text stands in titles and messages: exactly as it is typed, but for upper and lower case."""

from __future__ import annotations

import itertools
import re
import sqlite3
from collections.abc import Iterator
from typing import Final

from specdesk.store.encoding import encoded, time_of, undamaged
from specdesk.store.rows import get_chat, list_chats
from specdesk.store.values import Hit, Role

_TRIGRAM: Final = 3
"""Characters under which the index knows nothing."""
_BEFORE: Final = 40
_AFTER: Final = 80
"""Characters of a snippet around what was found."""
_BREAKS: Final = re.compile(r"[\n\r\t\v\f\x85\u2028\u2029]")
_ALL: Final = -1
"""No LIMIT."""


def search(db: sqlite3.Connection, query: str, limit: int, *, indexed: bool) -> list[Hit]:
    """Titles first, then messages, each the newest first. Deleted chats are left out; empty text is found nowhere."""
    if not query:
        return []
    hits = list(itertools.islice(_in_titles(db, query), limit))
    find = _indexed if indexed and len(query) >= _TRIGRAM else _scanned
    return hits + [_message_hit(db, number, query) for number in find(db, query, limit - len(hits))]


def _in_titles(db: sqlite3.Connection, query: str) -> Iterator[Hit]:
    for chat in list_chats(db, deleted=False, limit=_ALL, offset=0):
        if _holds(chat.title, query):
            yield Hit(chat, None, None, chat.created, *_snippet(chat.title, query))


def _indexed(db: sqlite3.Connection, query: str, limit: int) -> list[int]:
    """The numbers of messages, by the index."""
    rows = db.execute(
        """
        SELECT messages.id FROM full_text
        JOIN messages ON messages.id = full_text.rowid
        JOIN chats ON chats.id = messages.chat_id
        WHERE full_text MATCH CAST(? AS TEXT) AND chats.deleted IS NULL
        ORDER BY messages.created DESC, messages.id DESC
        LIMIT ?
        """,
        # A string of FTS5: nothing in it is syntax, a quote is doubled.
        (encoded('"' + query.replace('"', '""') + '"'), limit),
    )
    return [row["id"] for row in rows]


def _scanned(db: sqlite3.Connection, query: str, limit: int) -> list[int]:
    """The same, by reading message after message until there are enough.

    LIKE would know upper and lower case in ASCII only.
    """
    rows = db.execute(
        """
        SELECT messages.id, messages.text FROM messages
        JOIN chats ON chats.id = messages.chat_id
        WHERE chats.deleted IS NULL
        ORDER BY messages.created DESC, messages.id DESC
        """
    )
    return list(itertools.islice((row["id"] for row in rows if _holds(row["text"], query)), limit))


def _holds(text: str, query: str) -> bool:
    return query.lower() in text.lower()


def _message_hit(db: sqlite3.Connection, number: int, query: str) -> Hit:
    row = db.execute("SELECT chat_id, role, created, text FROM messages WHERE id = ?", (number,)).fetchone()
    with undamaged(f"message {number}"):
        return Hit(
            get_chat(db, row["chat_id"]),
            number,
            Role(row["role"]),
            time_of(row["created"]),
            *_snippet(row["text"], query),
        )


def _snippet(text: str, query: str) -> tuple[str, int, int]:
    """A line around the first place, and where in it that is."""
    # SQLite and Python agree on upper and lower case in all but a few letters: then it is the beginning that is shown.
    found = re.search(re.escape(query), text, re.IGNORECASE)
    start, end = found.span() if found else (0, 0)
    first, last = max(0, start - _BEFORE), min(len(text), end + _AFTER)
    head, tail = "…" if first else "", "…" if last < len(text) else ""
    line = _BREAKS.sub(" ", text[first:last])
    offset = len(head) - first
    return head + line + tail, start + offset, end + offset
