"""The list of chats, kept in step with the store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Protocol

from specdesk.errors import UsageError
from specdesk.store.chat_store import ChatStore
from specdesk.store.values import ChatMessage, Hit
from specdesk.tui.chat.attempts import Tells, done, result_of
from specdesk.tui.widgets.chats import Chats, Entry

_RECALLED = 200
"""Earlier prompts that can be walked through."""
_MOST = 500
"""Chats that are listed; the search finds the others."""


class Owner(Tells, Protocol):
    """Whose chats they are."""

    def offer_undo(self, offered: bool) -> None:
        """Whether something that was deleted can be brought back has changed, or not."""


class Bookshelf:
    """Fills the list, and changes what it lists. What the store refuses goes to the owner."""

    def __init__(self, owner: Owner, store: ChatStore) -> None:
        self._owner = owner
        self._store = store
        self._current: int | None = None
        self._deleted: list[_Deleted] = []

    def lay(self, chats: Chats) -> None:
        """Where they are listed."""
        self._chats = chats

    def refresh(self, current: int | None) -> None:
        """List what there is, or what is searched for; `current` is the chat that is shown."""
        self._current = current
        self.search(self._chats.query_text)

    def earlier_prompts(self) -> list[str]:
        """What was asked lately, in all chats, the oldest first."""
        return result_of(lambda: self._store.questions(_RECALLED), self._owner) or []

    def search(self, query: str) -> None:
        """List what holds a text; without one, all chats."""
        done(lambda: self._show_holding(query) if query.strip() else self._show_latest(), self._owner)

    def _show_holding(self, query: str) -> None:
        now = datetime.now(UTC)
        found = [_found(hit, now) for hit in self._store.search(query)]
        self._chats.show(found, self._current, empty=f"nothing holds “{query}”")

    def _show_latest(self) -> None:
        now = datetime.now(UTC)
        latest = [Entry(chat.id, chat.title, _when(chat.updated, now)) for chat in self._store.chats(_MOST)]
        self._chats.show(latest, self._current)

    def rename(self, chat_id: int, title: str) -> None:
        """Give a chat another title."""
        if done(lambda: self._store.rename(chat_id, title), self._owner):
            self.refresh(self._current)

    def delete(self, chat_id: int) -> bool:
        """Take a chat away, whether that was done; `undo` brings it back."""

        def delete() -> str:
            title = self._store.chat(chat_id).title
            self._store.delete(chat_id)
            return title

        title = result_of(delete, self._owner)
        if title is None:
            return False
        self._keep(_Deleted(f"“{title}” is back", partial(self._store.restore, chat_id)))
        self._owner.say(f"deleted “{title}” · F9 brings it back")
        self.refresh(None if chat_id == self._current else self._current)
        return True

    def leave_out(self, message: ChatMessage) -> bool:
        """Take a question and its answer, with all behind them, out of a chat; whether that was done."""

        def leave_out() -> tuple[str, int]:
            return self._store.chat(message.chat_id).title, self._store.leave_out(message.id)

        found = result_of(leave_out, self._owner)
        if found is None:
            return False
        title, end = found
        back = partial(self._store.show, end)
        self._keep(_Deleted(f"what was deleted from “{title}” is back", back, message.chat_id))
        self._owner.say("deleted, with what followed · F9 brings it back")
        return True

    @property
    def would_grow(self) -> int | None:
        """The chat that `undo` would bring messages back to, if it would."""
        return self._deleted[-1].grown if self._deleted else None

    def undo(self) -> int | None:
        """Bring back what was deleted last, if anything was: the chat that has grown by it."""

        def bring_back() -> None:
            try:
                last.bring_back()
            except UsageError:  # purged by another specdesk; what was deleted before it can come back
                self._forget_last()
                raise

        if not self._deleted:
            self._owner.say("nothing was deleted here")
            return None
        last = self._deleted[-1]
        if not done(bring_back, self._owner):
            return None
        self._forget_last()
        self._owner.say(last.said)
        self.refresh(self._current)
        return last.grown

    def _keep(self, deleted: _Deleted) -> None:
        self._deleted.append(deleted)
        self._owner.offer_undo(True)

    def _forget_last(self) -> None:
        self._deleted.pop()
        self._owner.offer_undo(bool(self._deleted))


@dataclass(frozen=True, slots=True)
class _Deleted:
    """What can be brought back."""

    said: str
    bring_back: Callable[[], None]
    grown: int | None = None
    """The chat that will have more messages."""


def _found(hit: Hit, now: datetime) -> Entry:
    return Entry(
        hit.chat.id, hit.chat.title, _when(hit.created, now), hit.snippet, (hit.start, hit.end), hit.message_id
    )


def _when(then: datetime, now: datetime) -> str:
    """When that was, as far as it matters."""
    then, now = then.astimezone(), now.astimezone()
    if then.date() == now.date():
        return then.strftime("today %H:%M")
    return then.strftime("%d %b" if then.year == now.year else "%d %b %Y")
