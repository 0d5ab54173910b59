"""One of two answers that are compared: who wrote its tokens, what it took, and how it stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.message import Message
from textual.widgets import Button, Static

from specdesk.core.events import AnswerToken, Event, Finished, Step
from specdesk.errors import SpecdeskError
from specdesk.tokenview import Span, delta_spans, spans, visible
from specdesk.tui.comparing.comparison import Half, Way
from specdesk.tui.widgets.token_view import TokenView
from specdesk.tui.widgets.turns import Failure


class HalfView(Vertical):
    """Follows the end of an answer while it grows, unless the user scrolled up."""

    @dataclass
    class Taken(Message):
        """The user wants this answer for the chat."""

        view: HalfView

        @property
        def control(self) -> HalfView:
            """Which one."""
            return self.view

    def __init__(self, way: Way) -> None:
        super().__init__(classes=way.value)
        self.way = way
        self.border_title = way.value
        self._text = Vertical(classes="text")
        self._written: list[AnswerToken] = []
        self.tokens = self._new_tokens(show_rejected=True)

    def compose(self) -> ComposeResult:
        """Text, figures, and a button."""
        with VerticalScroll(), self._text:
            yield self.tokens
        yield Static(markup=False, classes="measured")
        yield Button("Keep this answer", compact=True, classes="keep")

    async def clear(self, *, show_rejected: bool) -> None:
        """Begin without text."""
        self._written.clear()
        self.tokens = self._new_tokens(show_rejected=show_rejected)
        await self._text.remove_children()
        await self._text.mount(self.tokens)
        self.query_one(VerticalScroll).anchor()
        self.query_one(".measured", Static).update("")

    def stand(self, state: str, *, running: bool, kept: bool) -> None:
        """How it stands, in a word or two, whether it is written now, and whether it may be kept."""
        self.border_subtitle = state
        key = list(Way).index(self.way) + 1
        self.border_title = f"{self.way.value} · {key} keeps it" if kept else self.way.value
        self.set_class(running, "-running")
        self.query_one(".keep").set_class(kept, "-offered")

    def add(self, events: Sequence[Event], half: Half) -> None:
        """Show what the events add; `half` has taken them."""
        grown: list[Span] = []
        for event in events:
            if isinstance(event, Step):
                self._written.extend(event.tokens)
                grown.extend(spans(event, show_rejected=True, written=self._written))
            elif isinstance(event, Finished):
                grown.extend(delta_spans(event.deltas, self._written))
        if grown:
            self.tokens.extend(grown)
        if any(isinstance(event, Finished) for event in events):
            self.tokens.finish()
        self.query_one(".measured", Static).update(visible(half.measured))

    def mark(self, token: AnswerToken) -> None:
        """Bring a token into view and mark it."""
        self.query_one(VerticalScroll).anchor(anchor=False)
        self.tokens.mark(token)

    def fail(self, error: SpecdeskError) -> None:
        """Say what ended it."""
        self.tokens.finish()
        self._text.mount(Failure(error))

    @on(Button.Pressed)
    def _take(self, event: Button.Pressed) -> None:
        event.stop()
        self.post_message(self.Taken(self))

    def _new_tokens(self, *, show_rejected: bool) -> TokenView:
        return TokenView(show_rejected=show_rejected)
