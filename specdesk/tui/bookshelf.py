"""The list of chats, kept in step with the store."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from specdesk.store.chat_store import ChatStore
from specdesk.store.values import Chat, Hit
from specdesk.tui.widgets.chats import Chats, Entry

_RECALLED = 200
"""Earlier prompts that can be walked through."""
_MOST = 500
"""Chats that are listed; the search finds the others."""


class Bookshelf:
    """Fills the list, and changes what it lists."""

    def __init__(self, store: ChatStore, chats: Chats, say: Callable[[str], None]) -> None:
        self._store = store
        self._chats = chats
        self._say = say
        self._current: int | None = None
        self._deleted: list[Chat] = []

    def refresh(self, current: int | None) -> None:
        """List what there is, or what is searched for; `current` is the chat that is shown."""
        self._current = current
        self.search(self._chats.query_text)

    def earlier_prompts(self) -> list[str]:
        """What was asked lately, in all chats, the oldest first."""
        return self._store.questions(_RECALLED)

    def search(self, query: str) -> None:
        """List what holds a text; without one, all chats."""
        if query.strip():
            hits = self._store.search(query)
            self._chats.show([_found(hit) for hit in hits], self._current, empty=f"nothing holds “{query}”")
        else:
            now = datetime.now(UTC)
            listed = self._store.chats(_MOST)
            self._chats.show([Entry(chat.id, chat.title, _when(chat.updated, now)) for chat in listed], self._current)

    def rename(self, chat_id: int, title: str) -> None:
        """Give a chat another title. Raises StorageError."""
        self._store.rename(chat_id, title)
        self.refresh(self._current)

    def delete(self, chat_id: int) -> None:
        """Take a chat away; `undo` brings it back. Raises StorageError."""
        chat = self._store.chat(chat_id)
        self._store.delete(chat_id)
        self._deleted.append(chat)
        self._say(f"deleted “{chat.title}” · U in the list brings it back")
        self.refresh(None if chat_id == self._current else self._current)

    def undo(self) -> None:
        """Bring back the chat that was deleted last, if there is one. Raises StorageError."""
        if self._deleted:
            chat = self._deleted.pop()
            self._store.restore(chat.id)
            self._say(f"“{chat.title}” is back")
            self.refresh(self._current)
        else:
            self._say("nothing was deleted here")


def _found(hit: Hit) -> Entry:
    return Entry(hit.chat.id, hit.chat.title, hit.snippet, (hit.start, hit.end), hit.message_id)


def _when(then: datetime, now: datetime) -> str:
    """When that was, as far as it matters."""
    then, now = then.astimezone(), now.astimezone()
    if then.date() == now.date():
        return then.strftime("today %H:%M")
    return then.strftime("%d %b" if then.year == now.year else "%d %b %Y")
