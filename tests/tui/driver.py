"""Drives a chat through Textual's pilot, and reads its screen."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from rich.style import Style
from textual.pilot import Pilot
from textual.strip import Strip

from specdesk.core.events import Event, Step
from specdesk.settings import EngineSettings
from specdesk.store.chat_store import ChatStore
from specdesk.tokenview import Kind, styles
from specdesk.tui.app import ChatApp
from specdesk.tui.chat.screen import ChatScreen
from specdesk.tui.chat.state import State
from specdesk.tui.chat_options import ChatOptions
from specdesk.tui.engine_thread import Load
from specdesk.tui.preferences.keeper import Keeper
from specdesk.tui.setup import Setup
from specdesk.tui.view import View
from specdesk.tui.widgets.answer import AnswerTurn
from specdesk.tui.widgets.prompt import Prompt
from specdesk.tui.widgets.transcript import Transcript
from tests.tui.scripted import END, PATIENCE_S, ScriptedEngine, prompt_read, values_of


def _look(style: Style) -> tuple[bool, bool, bool, str]:
    """What sets a kind apart; colours that are not of a kind count as none."""
    colour = style.color.name if style.color is not None else ""
    known = colour if colour in {"green", "yellow", "cyan", "red"} else ""
    return bool(style.bold), bool(style.underline), bool(style.strike), known


_KIND_OF = {_look(Style.parse(style)): kind for kind, style in styles(speculating=True).items()}


@dataclass
class Chat:
    """A chat over a scripted engine; the loading waits for `may_load`."""

    engine: ScriptedEngine
    may_load: threading.Event
    app: ChatApp
    loaded_with: list[EngineSettings]
    """How the models were loaded, the last time last."""

    @asynccontextmanager
    async def run(
        self, *, size: tuple[int, int] = (120, 40), ready: bool = True, view: View = View.TOKENS
    ) -> AsyncIterator[Driver]:
        """The chat on a screen of that size, ready for the first question unless the test wants to see it load."""
        async with self.app.run_test(size=size, notifications=True) as pilot:
            driver = Driver(self, pilot)
            driver.screen._showing.show_as(view)
            if ready:
                await driver.until_state(State.READY)
            yield driver


def chat_over(load: Load, store: ChatStore, settings: EngineSettings, options: ChatOptions) -> Chat:
    """A chat over a real engine, which answers as `options` say."""
    app = ChatApp(load, store, Setup(Keeper.open(), settings, given=values_of(options)))
    return Chat(ScriptedEngine(), threading.Event(), app, [])


class Driver:
    """Types and looks."""

    def __init__(self, chat: Chat, pilot: Pilot[None]) -> None:
        self.chat = chat
        self.engine = chat.engine
        self.pilot = pilot
        screen = chat.app.screen
        assert isinstance(screen, ChatScreen)
        self.screen = screen

    async def until(self, true: Callable[[], bool], what: str) -> None:
        await wait_until(self.pilot, true, what)

    async def until_state(self, state: State) -> None:
        await self.until(lambda: state.value in str(self.prompt.border_subtitle), f"state {state}")
        await self.pilot.pause()

    async def ask(self, text: str) -> None:
        """Sends a question and waits until the engine has it."""
        n_asked = len(self.engine.asked)
        self.prompt.focus()
        self.prompt.insert(text)
        await self.pilot.press("enter")
        await self.until(lambda: len(self.engine.asked) > n_asked, "the engine is asked")

    async def answer(self, *events: Event) -> None:
        """Feeds a whole answer and waits until it is concluded."""
        self.engine.feed(prompt_read(), *events, END)
        await self.until_state(State.READY)
        await self.pilot.pause()

    async def stream(self, *steps: Step) -> None:
        """Feeds steps and waits until they are on screen."""
        n_passes = self.last.figures.tally.target_passes
        self.engine.feed(*steps)
        await self.until(lambda: self.last.figures.tally.target_passes == n_passes + len(steps), "steps on screen")
        await self.pilot.pause()

    @property
    def prompt(self) -> Prompt:
        return self.screen.query_one(Prompt)

    @property
    def last(self) -> AnswerTurn:
        return self.screen.query(AnswerTurn).last()

    @property
    def transcript(self) -> Transcript:
        return self.screen.query_one(Transcript)

    @property
    def texts(self) -> list[str]:
        """The turns of the conversation on screen."""
        return [turn.text for turn in self.transcript.turns]

    def painted(self, answer: AnswerTurn | None = None) -> list[tuple[str, Style]]:
        """What an answer's token view paints: pieces with their styles, row ends as newlines."""
        view = (answer or self.last).tokens
        pieces: list[tuple[str, Style]] = []
        for y in range(view.size.height):
            segments = list(view.render_line(y))
            # The last segment pads the row.
            while segments and not segments[-1].text.strip():
                segments.pop()
            pieces += [(segment.text, segment.style or Style()) for segment in segments]
        return pieces

    def labels(self) -> list[tuple[str, Kind]]:
        """The pieces of the last answer with the kinds they are painted as."""
        return [(text, _KIND_OF[_look(style)]) for text, style in self.painted()]

    def shown_strips(self) -> list[Strip]:
        """The rows of the whole screen, with whatever lies above the chat."""
        return self.chat.app.screen._compositor.render_strips()

    def shown(self) -> str:
        """The same as text."""
        width = self.chat.app.screen.size.width
        return "\n".join(strip.text.ljust(width) for strip in self.shown_strips())


async def wait_until(pilot: Pilot[None], true: Callable[[], bool], what: str) -> None:
    """Let the app work until `true`; fails after PATIENCE_S."""
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        if time.monotonic() > deadline:
            pytest.fail(f"waited {PATIENCE_S:.0f} s in vain: {what}")
        await pilot.pause()
