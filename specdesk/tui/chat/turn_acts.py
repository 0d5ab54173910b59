"""What can be done with a turn of the conversation, as its keys ask for it."""

from __future__ import annotations

from typing import Protocol

from specdesk.tui.chat.attempts import Tells
from specdesk.tui.chat.bookshelf import Bookshelf
from specdesk.tui.chat.chat_acts import ChatActs
from specdesk.tui.chat.composer import Composer
from specdesk.tui.chat.desk import Desk
from specdesk.tui.chat.state import REASONS
from specdesk.tui.markdown.code_blocks import code_blocks
from specdesk.tui.widgets.turn import Act, Turn


class Owner(Tells, Protocol):
    """Whose turns they are."""

    def copy(self, text: str) -> None:
        """Put it on the clipboard, and tell what became of it."""

    def save_turn(self, turn: Turn) -> object:
        """Write it into a file."""

    def write(self) -> None:
        """Go back to the prompt."""

    def begun(self) -> None:
        """An answer is under way."""


class TurnActs:
    """Does what is wanted, or says why not."""

    def __init__(self, owner: Owner, desk: Desk, composer: Composer, bookshelf: Bookshelf, chat_acts: ChatActs) -> None:
        self._owner = owner
        self._desk = desk
        self._composer = composer
        self._bookshelf = bookshelf
        self._chat_acts = chat_acts

    def do(self, turn: Turn, act: Act) -> None:
        """Do that with the turn."""
        ready = self._composer.ready
        match act:
            case Act.LEAVE:
                self._owner.write()
            case Act.COPY:
                self._owner.copy(turn.text)
            case Act.COPY_CODE:
                self._copy_code(turn)
            case Act.SAVE:
                self._owner.save_turn(turn)
            case Act.OLDER | Act.NEWER if not self._desk.is_answering:
                self._composer.leave_edit()
                self._desk.switch(turn, -1 if act is Act.OLDER else 1)
            case Act.EDIT if ready:
                self._composer.edit(turn)
            case Act.AGAIN if ready:
                self._began(self._desk.answer_again(turn))
            case Act.GO_ON if ready:
                self._began(self._desk.go_on(turn))
            case Act.DELETE if ready:
                self._leave_out(turn)
            case Act.UNDO if ready:
                if self._chat_acts.undo():
                    self._owner.write()
            case _:
                self._owner.say(f"not now: {REASONS.get(self._composer.state, 'that cannot be done here')}")

    def _began(self, asked: bool) -> None:
        if asked:
            self._owner.begun()

    def _copy_code(self, turn: Turn) -> None:
        blocks = code_blocks(turn.text)
        if blocks:
            self._owner.copy(blocks[-1].source)

    def _leave_out(self, turn: Turn) -> None:
        message = turn.message
        if message is None:
            self._owner.say("not deleted: the chat has no such message")
        elif self._bookshelf.leave_out(message):
            self._composer.leave_edit()
            self._desk.open(message.chat_id)
            self._owner.write()
