"""What is changed while the chat runs: settings hold at once, and the models are loaded again where they must be."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from textual.screen import Screen

from specdesk.engine.client import EngineInfo
from specdesk.tui.chat.attempts import Tells, done
from specdesk.tui.chat.desk import Desk
from specdesk.tui.chat.showing import Showing
from specdesk.tui.chat_options import ChatOptions
from specdesk.tui.preferences.catalogue import Values
from specdesk.tui.screens.settings import SettingsScreen
from specdesk.tui.setup import Setup
from specdesk.wording import notes


class Owner(Tells, Protocol):
    """Whose settings they are; it shows what cannot be saved."""

    def show_setup(self, info: EngineInfo, options: ChatOptions, notes: Sequence[str]) -> None:
        """Answers will be made so; `notes` say what of it is not as it was asked for, and why."""

    def load_as_set(self) -> None:
        """Load the models again, if any were to be loaded."""


class Adjusting:
    """Brings what is set to the desk. No answer under way is touched."""

    def __init__(
        self,
        owner: Owner,
        go: Callable[[Screen[Any]], Awaitable[Any]],
        desk: Desk,
        setup: Setup,
        showing: Showing,
    ) -> None:
        """`go` shows a screen and waits for its result."""
        self._owner = owner
        self._go = go
        self._desk = desk
        self._setup = setup
        self._showing = showing

    async def ask(self) -> None:
        """Let the user change how answers are made."""
        setup, desk = self._setup, self._desk
        changes: Values | None = await self._go(SettingsScreen(setup.values, setup.outranked, setup))
        if changes is None:
            return
        done(lambda: setup.change(changes), self._owner)
        if "view" in changes:
            self._showing.show_as_set()
        if not setup.must_load:
            self.tell()
        elif desk.is_answering:
            self._owner.say("the models are loaded again once this answer has ended")
        else:
            self._owner.load_as_set()

    def tell(self) -> None:
        """Say how answers will be made, once that is known."""
        info, options = self._desk.info, self._setup.options
        if info is not None:
            lookahead = info.lookahead(options.answer_options(0))
            limit = info.why_no_more(lookahead)
            said = notes(lookahead, wanted=options.lookahead, widest=info.widest, limit=limit)
            self._owner.show_setup(info, options, said)

    def load_if_needed(self) -> None:
        """Have the models loaded again if they are to run otherwise; an answer under way is waited for."""
        if self._setup.must_load and not self._desk.is_answering:
            self._owner.load_as_set()

    def toggle_rejected(self) -> None:
        """Show or hide what the target refused, in all answers, and keep that."""
        self.remember("show_rejected", not self._showing.shows_rejected)
        self._showing.show_rejected_as_set()

    def remember(self, key: str, value: object) -> None:
        """Have kept what is set in passing."""
        done(lambda: self._setup.remember(key, value), self._owner)
