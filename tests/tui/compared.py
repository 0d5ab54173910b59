"""Drives the A/B screen, and reads it."""

from __future__ import annotations

from dataclasses import replace

from rich.style import Style
from textual.widgets import Digits, Static

from specdesk.core.events import AnswerToken, Event, Step
from specdesk.tokenview import Kind, styles
from specdesk.tui.chat.screen import ChatScreen
from specdesk.tui.comparing.comparison import Way
from specdesk.tui.screens.compare import CompareScreen
from specdesk.tui.widgets.half_view import HalfView
from tests.tui.driver import Driver, _look
from tests.tui.scripted import END, prompt_read, step


class Compared:
    """The A/B screen over a chat."""

    def __init__(self, see: Driver) -> None:
        self.see = see
        self.engine = see.engine
        self.pilot = see.pilot

    @classmethod
    async def opened(cls, see: Driver, text: str = "") -> Compared:
        """With a text in the prompt, or on what the chat has; the engine has the prompt to read."""
        see.prompt.focus()
        see.prompt.insert(text)
        n_asked = len(see.engine.asked)
        await see.pilot.press("f3")
        await see.until(lambda: isinstance(see.pilot.app.screen, CompareScreen), "the A/B screen")
        compared = cls(see)
        await compared.until_asked(n_asked + 1)
        return compared

    @property
    def screen(self) -> CompareScreen:
        screen = self.pilot.app.screen
        assert isinstance(screen, CompareScreen)
        return screen

    def view(self, way: Way) -> HalfView:
        return self.screen._views[way]

    async def until_asked(self, n: int) -> None:
        await self.see.until(lambda: len(self.engine.asked) == n, f"question {n}")
        await self.pilot.pause()

    async def read(self) -> None:
        """The prompt has been read; the first answer is asked for."""
        n = len(self.engine.asked)
        self.engine.feed(prompt_read(), step([], "x"), END)
        await self.until_asked(n + 1)

    async def first(self, *events: Event) -> None:
        """The whole first answer; the second is asked for."""
        n = len(self.engine.asked)
        self.engine.feed(prompt_read(), *events, END)
        await self.until_asked(n + 1)

    async def second(self, *events: Event) -> None:
        """The whole second answer."""
        self.engine.feed(prompt_read(), *events, END)
        await self.until_ended()

    async def until_ended(self) -> None:
        await self.see.until(lambda: self.screen._comparing.ended, "the end of both")
        await self.pilot.pause()

    async def back(self) -> None:
        """The chat is shown again."""
        await self.see.until(lambda: isinstance(self.pilot.app.screen, ChatScreen), "the chat")
        await self.pilot.pause()

    def labels(self, way: Way) -> list[tuple[str, Kind]]:
        """What is painted, as what."""
        view, by_style = self.view(way).tokens, styles(speculating=way is Way.SPECULATIVE)
        kind_of = {_look(Style.parse(style)): kind for kind, style in by_style.items()}
        rows = [list(view.render_line(y)) for y in range(view.size.height)]
        for row in rows:
            # The last segment pads the row.
            while row and not row[-1].text.strip():
                row.pop()
        return [(segment.text, kind_of[_look(segment.style or Style())]) for row in rows for segment in row]

    def measured(self, way: Way) -> str:
        return str(self.view(way).query_one(".measured", Static).render())

    def stands(self, way: Way) -> str:
        return str(self.view(way).border_subtitle)

    @property
    def ratio(self) -> str:
        return self.screen.query_one("#ratio", Digits).value

    def line(self, name: str) -> str:
        """A line of the outcome."""
        return str(self.screen.query_one(f"#{name}", Static).render())

    def shown(self) -> str:
        """The whole screen as text."""
        screen = self.pilot.app.screen
        strips = screen._compositor.render_strips()
        return "\n".join(strip.text.ljust(screen.size.width) for strip in strips)


def told(see: Driver) -> str:
    """What was said in passing."""
    return "\n".join(notification.message for notification in see.pilot.app._notifications)


def numbered(*steps: Step) -> list[Step]:
    """Steps as they follow each other in one answer; equal texts have equal ids."""
    found: list[Step] = []
    first = 0
    for index, each in enumerate(steps):
        tokens = tuple(_with_id(token) for token in each.tokens)
        deltas = tuple(replace(delta, token=first + i) for i, delta in enumerate(each.deltas))
        found.append(replace(each, index=index, tokens=tokens, deltas=deltas))
        first += len(tokens)
    return found


def _with_id(token: AnswerToken) -> AnswerToken:
    return replace(token, id=sum(token.text.encode()))


def plain(*texts: str) -> list[Step]:
    """An answer without drafts, a token a pass, 0.04 s each."""
    return numbered(*(step([], text, step_s=0.04) for text in texts))


WORDS = tuple(f"w{i} " for i in range(20))
"""An answer long enough to be judged."""


def drafted(*texts: str) -> list[Step]:
    """The same text by passes of four tokens, 0.05 s each."""
    return numbered(*(step(texts[i : i + 3], texts[i + 3], step_s=0.05) for i in range(0, len(texts), 4)))


async def both(compared: Compared) -> None:
    """A whole comparison of the same text."""
    await compared.read()
    await compared.first(*plain(*WORDS))
    await compared.second(*drafted(*WORDS))


def texts(see: Driver) -> list[str]:
    """The turns of the chat."""
    return [turn.text for turn in see.transcript.turns]
