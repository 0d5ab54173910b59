"""From the chat to other screens and back: A/B, and files."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from textual.screen import Screen

from specdesk.errors import SpecdeskError
from specdesk.store.chat_store import ChatStore
from specdesk.store.exchange import Imported
from specdesk.store.values import Chat
from specdesk.tui.chat.attempts import Tells, result_of
from specdesk.tui.chat.desk import Desk
from specdesk.tui.chat.files import export_chat, import_chat, save_text
from specdesk.tui.comparing.subject import Subject, subject_of
from specdesk.tui.engine_thread import EngineThread
from specdesk.tui.screens.compare import CompareScreen
from specdesk.tui.setup import Setup
from specdesk.tui.widgets.answer import AnswerTurn
from specdesk.tui.widgets.turn import Turn
from specdesk.wording import notes


class Excursions:
    """Goes where it is asked to. What there is to say afterwards is said to the owner."""

    def __init__(
        self,
        owner: Tells,
        go: Callable[[Screen[Any]], Awaitable[Any]],
        engine: EngineThread,
        store: ChatStore,
        desk: Desk,
        setup: Setup,
    ) -> None:
        """`go` shows a screen and waits for its result."""
        self._owner = owner
        self._go = go
        self._engine = engine
        self._store = store
        self._desk = desk
        self._setup = setup

    async def compare(self, text: str, editing: Turn | None) -> int | None:
        """Have `text`, or without one the last question, answered both ways; returns the chat that kept an answer."""
        subject, info = self._subject(text, editing), self._desk.info
        if subject is None or info is None:
            return None
        options = subject.request.options
        lookahead = info.lookahead(options)
        if lookahead == 0:
            limit = info.why_no_more(lookahead)
            reasons = notes(lookahead, wanted=options.lookahead, widest=info.widest, limit=limit)
            self._owner.say(f"not compared, both would be plain: {''.join(reasons) or 'K is 0'}")
            return None
        kept: int | None = await self._go(CompareScreen(self._engine, info, subject))
        return kept

    async def export(self) -> None:
        """Have the chat written into a file."""
        chat = self._chat()
        if chat is not None and (said := await self._go(export_chat(self._store, chat))) is not None:
            self._owner.say(said)

    async def save(self, turn: Turn) -> None:
        """Have a turn written into a file."""
        what, title = "answer" if isinstance(turn, AnswerTurn) else "question", "chat"
        # Where the store refuses, a file may be all that is left.
        with suppress(SpecdeskError):
            if (chat_id := self._desk.chat_id) is not None:
                title = self._store.chat(chat_id).title
        if (said := await self._go(save_text(title, what, turn.text))) is not None:
            self._owner.say(said)

    async def bring_in(self) -> int | None:
        """Have a chat read from a file; returns it."""
        imported: Imported | None = await self._go(import_chat(self._store))
        if imported is None:
            return None
        twins = ", beside one that began at the same moment" if imported.twins else ""
        self._owner.say(f"imported “{imported.chat.title}”{twins}")
        return imported.chat.id

    def _subject(self, text: str, editing: Turn | None) -> Subject | None:
        instead = None if editing is None else editing.message
        try:
            found = subject_of(self._store, self._desk.chat_id, text, self._setup.options, instead)
        except SpecdeskError as error:
            self._owner.show_error(error)
            return None
        if found is None:
            self._owner.say("nothing to compare yet: ask something, or write it into the prompt")
        return found

    def _chat(self) -> Chat | None:
        chat_id = self._desk.chat_id
        if chat_id is None:
            self._owner.say("nothing to save yet: nothing was said")
            return None
        return result_of(lambda: self._store.chat(chat_id), self._owner)
