"""The list of chats, kept in step with the store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from specdesk.store.chat_store import ChatStore
from specdesk.store.values import ChatMessage, Hit
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
        self._deleted: list[_Deleted] = []

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
        self._deleted.append(_Deleted(f"“{chat.title}” is back", partial(self._store.restore, chat_id)))
        self._say(f"deleted “{chat.title}” · U in the list brings it back")
        self.refresh(None if chat_id == self._current else self._current)

    def leave_out(self, message: ChatMessage) -> None:
        """Take a question and its answer, with all behind them, out of a chat. Raises StorageError, UsageError."""
        end = self._store.leave_out(message.id)
        back = partial(self._store.switch_branch, end)
        self._deleted.append(_Deleted("what was deleted from the chat is back", back, message.chat_id))
        self._say("deleted, with what followed · U brings it back")

    def undo(self) -> int | None:
        """Bring back what was deleted last, if anything was: the chat that has grown by it. Raises StorageError."""
        if not self._deleted:
            self._say("nothing was deleted here")
            return None
        last = self._deleted[-1]
        last.bring_back()
        self._deleted.pop()
        self._say(last.said)
        self.refresh(self._current)
        return last.grown


@dataclass(frozen=True, slots=True)
class _Deleted:
    """What can be brought back."""

    said: str
    bring_back: Callable[[], None]
    grown: int | None = None
    """The chat that will have more messages."""


def _found(hit: Hit) -> Entry:
    return Entry(hit.chat.id, hit.chat.title, hit.snippet, (hit.start, hit.end), hit.message_id)


def _when(then: datetime, now: datetime) -> str:
    """When that was, as far as it matters."""
    then, now = then.astimezone(), now.astimezone()
    if then.date() == now.date():
        return then.strftime("today %H:%M")
    return then.strftime("%d %b" if then.year == now.year else "%d %b %Y")
