"""What can be done with the chats there are: one is opened, begun, deleted, brought back."""

from __future__ import annotations

from typing import Protocol

from specdesk.tui.chat.attempts import Tells
from specdesk.tui.chat.bookshelf import Bookshelf
from specdesk.tui.chat.composer import Composer
from specdesk.tui.chat.desk import Desk
from specdesk.tui.chat.state import REASONS, State


class Owner(Tells, Protocol):
    """Whose chats they are."""

    def write(self) -> None:
        """Go back to the prompt."""

    def refresh_bindings(self) -> None:
        """Other things can be done than before."""


class ChatActs:
    """Does what is wanted, or says why not: an answer under way is not left."""

    def __init__(self, owner: Owner, desk: Desk, composer: Composer, bookshelf: Bookshelf) -> None:
        self._owner = owner
        self._desk = desk
        self._composer = composer
        self._bookshelf = bookshelf

    def open(self, chat_id: int, message_id: int | None = None) -> None:
        """Show a chat: at a message, which is chosen, or at its end, ready to be gone on with."""
        if self._refused("opened"):
            return
        self._composer.leave_edit()
        self._desk.open(chat_id, message_id)
        self._bookshelf.refresh(chat_id)
        self._owner.refresh_bindings()
        if message_id is None:
            self._owner.write()

    def begin(self) -> None:
        """Begin another one, with an empty history."""
        self._composer.leave_edit()
        self._desk.clear()
        self._bookshelf.refresh(None)
        self._owner.write()

    def delete(self, chat_id: int) -> None:
        """Take a chat from the list; `undo` brings it back."""
        is_open = chat_id == self._desk.chat_id
        if is_open and self._refused("deleted"):
            return
        if self._bookshelf.delete(chat_id) and is_open:
            self.begin()

    def undo(self) -> bool:
        """Bring back what was deleted last; whether it is of the chat that is open, and seen again."""
        if self._bookshelf.would_grow == self._desk.chat_id and self._refused("brought back"):
            return False
        grown = self._bookshelf.undo()
        if grown is None or grown != self._desk.chat_id:
            return False
        self._composer.leave_edit()
        self._desk.open(grown)
        return True

    def _refused(self, deed: str) -> bool:
        if self._desk.is_answering:
            self._owner.say(f"not {deed}: {REASONS[State.ANSWERING]}")
        return self._desk.is_answering
