"""A bare application for trying widgets by themselves."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from textual import events
from textual.app import App, ComposeResult
from textual.message import Message
from textual.pilot import Pilot
from textual.widget import Widget

M = TypeVar("M", bound=Message)


class Stage(App[None]):
    """Shows widgets from top to bottom, and keeps what they post."""

    CSS = """
    Stage Prompt { height: auto; max-height: 10; border: round green; padding: 0 1; }
    """

    def __init__(self, *widgets: Widget) -> None:
        super().__init__()
        self._widgets = widgets
        self.posted: list[Message] = []

    def compose(self) -> ComposeResult:
        yield from self._widgets

    def keep(self, message: Message) -> None:
        """A message hook: it hears of a message from each widget that gets it."""
        if not any(message is known for known in self.posted):
            self.posted.append(message)

    def of(self, kind: type[M]) -> list[M]:
        return [message for message in self.posted if isinstance(message, kind)]


def shown(app: App[None]) -> list[str]:
    """The rows of the screen as text."""
    return [strip.text for strip in app.screen._compositor.render_strips()]


def cells(app: App[None]) -> list[int]:
    """How wide each row of the screen is."""
    return [strip.cell_length for strip in app.screen._compositor.render_strips()]


async def settle(pilot: Pilot[None]) -> None:
    """Let every widget see what was sent to it, and paint: pilot.pause() without its wait for an idle processor."""
    for _ in range(2):
        await pilot._wait_for_screen()
        pilot.app.screen._on_timer_update()


async def burst(pilot: Pilot[None], *keys: str) -> None:
    """Keys all at once, as a slow line delivers them; a single character is typed."""
    for key in keys:
        pilot.app.post_message(events.Key(key, key if len(key) == 1 else None))
    await settle(pilot)


async def cpu_s(work: Callable[[], Awaitable[object]]) -> float:
    """CPU seconds this thread spends on `work`: what a busy machine does not change."""
    begin = time.thread_time()
    await work()
    return time.thread_time() - begin
