"""A/B: the same question, options and seed, answered plainly and with speculation, side by side."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Static

from specdesk.core.events import Event, Finished, PromptRead
from specdesk.engine.client import EngineInfo
from specdesk.errors import SpecdeskError
from specdesk.tokenview import visible
from specdesk.tui.comparing.comparison import Way, parting
from specdesk.tui.comparing.in_turn import Comparing
from specdesk.tui.comparing.subject import Subject
from specdesk.tui.engine_thread import EngineThread
from specdesk.tui.messages import AnswerFailed, EngineEvent, EngineLost
from specdesk.tui.pace import Pace
from specdesk.tui.screens.ending import end
from specdesk.tui.token_details import summary
from specdesk.tui.widgets.asked import Asked
from specdesk.tui.widgets.half_view import HalfView
from specdesk.tui.widgets.keys import Keys
from specdesk.tui.widgets.outcome import Outcome
from specdesk.tui.widgets.speed import legend_text
from specdesk.tui.widgets.token_view import TokenView


class CompareScreen(Screen[int | None]):
    """Has both answers written one after the other. Returns the chat that one of them was kept in, if one was."""

    CSS_PATH = "compare.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-thin"), (60, "-narrow"), (100, "-wide")]  # noqa: RUF012 — Textual declares it so
    VERTICAL_BREAKPOINTS = [(0, "-low"), (30, "-high")]  # noqa: RUF012 — the same
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "stop", "Stop", id="compare.stop", tooltip="End both here, as far as they came."),
        Binding("escape", "leave", "Back", id="compare.leave", tooltip="Go back to the chat, which is as it was."),
        Binding(
            "ctrl+c",
            "interrupt",
            id="compare.interrupt",
            tooltip="End both, else leave specdesk.",
            show=False,
            priority=True,
        ),
        Binding("s,S", "swap", "Swap", id="compare.swap", tooltip="Run both again, the other one first."),
        Binding(
            "1",
            "keep('PLAIN')",
            "Keep plain",
            id="compare.keep_plain",
            tooltip="Make the plain answer the chat's.",
        ),
        Binding(
            "2",
            "keep('SPECULATIVE')",
            "Keep speculative",
            id="compare.keep_speculative",
            tooltip="Make the speculative answer the chat's.",
        ),
        Binding(
            "ctrl+g",
            "toggle_rejected",
            "Rejected",
            id="compare.rejected",
            tooltip="Show or hide rejected draft tokens.",
            show=False,
        ),
    ]

    def __init__(self, engine: EngineThread, info: EngineInfo, subject: Subject) -> None:
        super().__init__()
        self._engine = engine
        self._info = info
        self._subject = subject
        self._comparing = Comparing(subject.request, lambda request: engine.ask(request, self.post_message))
        self._views = {way: HalfView(way) for way in Way}
        self._pending: dict[Way, list[Event]] = {way: [] for way in Way}
        self._pace = Pace()
        self._repaint: Timer | None = None
        self._stopping = self._leaving = self._lost = False
        self._show_rejected = True

    def compose(self) -> ComposeResult:
        """What is asked and how, both answers, what sets them apart."""
        yield Asked(self._subject.request, self._info)
        with Container(id="halves"):
            yield from self._views.values()
        yield Outcome()
        yield Static(self._legend(), id="below", markup=False)
        yield Keys()

    async def on_mount(self) -> None:
        """Begin at once."""
        self._comparing.begin()
        await self._clear()

    # --- what the engine's thread says

    def on_engine_event(self, message: EngineEvent) -> None:
        """Show it with the next repaint; the last one of an answer at once."""
        event = message.event
        way = self._comparing.add(event)
        if way is not None:
            self._pending[way].append(event)
            if self._repaint is None:
                self._repaint = self.set_timer(self._pace.wait_s, self._paint)
        elif isinstance(event, PromptRead):
            self._outcome.say(f"reading the prompt, for both: {event.n_read} of {event.n_total} tokens")
        if isinstance(event, Finished):
            if self._stopping:
                self._end(None)
            else:
                self._comparing.go_on()
                self._show()

    def on_answer_failed(self, message: AnswerFailed) -> None:
        """Keep what is there and say what happened."""
        self._end(message.error)

    def on_engine_lost(self, message: EngineLost) -> None:
        """The same; nothing more can be asked for."""
        self._lost = True
        self._end(message.error)

    # --- what the user wants

    def action_stop(self) -> None:
        """End what runs; asked for twice, go back as soon as it has."""
        if self._stopping:
            self._leaving = True
        else:
            self._stopping = True
            self._engine.cancel()
            self._outcome.say("stopping …")

    def action_leave(self) -> None:
        """Go back."""
        end(self, None)

    async def action_interrupt(self) -> None:
        """As in the chat: the first Ctrl-C ends the answer, one without an answer ends the program."""
        if self._comparing.ended:
            await self.app.action_quit()
        else:
            self.action_stop()

    async def action_swap(self) -> None:
        """Run both again, the other one first."""
        self._comparing.swap()
        await self._clear()

    def action_keep(self, way: str) -> None:
        """Make one of the answers the chat's."""
        self._keep(Way[way])

    @on(HalfView.Taken)
    def take(self, message: HalfView.Taken) -> None:
        """The same by mouse."""
        self._keep(message.view.way)

    def action_toggle_rejected(self) -> None:
        """Show or hide what the target refused."""
        self._show_rejected = not self._show_rejected
        for view in self._views.values():
            view.tokens.show_rejected(self._show_rejected)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Grey out what has no effect now."""
        if action in ("stop", "leave"):
            return self._comparing.ended == (action == "leave")
        if action == "swap":
            return True if self._comparing.ended and not self._lost else None
        if action == "keep":
            return True if self._comparing.may_keep(Way[str(parameters[0])]) else None
        return True

    @on(TokenView.Pointed)
    def point(self, message: TokenView.Pointed) -> None:
        """Tell of the token that is pointed at, in the legend's place."""
        below = self._legend() if message.span is None else Text(summary(message.span))
        self.query_one("#below", Static).update(below)

    # --- how it is shown

    async def _clear(self) -> None:
        self._stopping = self._leaving = False
        for view in self._views.values():
            await view.clear(show_rejected=self._show_rejected)
        self._outcome.clear()
        self._show()

    def _paint(self) -> None:
        if self._repaint is not None:
            self._repaint.stop()
            self._repaint = None
        self._pace.painted()
        for way, events in self._pending.items():
            if events:
                self._views[way].add(events, self._comparing.halves[way])
                events.clear()
                self._outcome.measure(self._comparing.halves)

    def _end(self, error: SpecdeskError | None) -> None:
        ended = self._comparing.end(error)
        self._show()
        if error is not None:
            self._views[ended].fail(error)
        if self._leaving:
            end(self, None)

    def _keep(self, way: Way) -> None:
        if not self._comparing.may_keep(way):
            return
        try:
            chat_id = self._subject.keep(self._comparing.halves[way], self._info)
        except SpecdeskError as error:
            self.notify(visible(str(error)), severity="error", markup=False)
        else:
            end(self, chat_id)

    def _show(self) -> None:
        self._paint()
        for way, view in self._views.items():
            comparing = self._comparing
            view.stand(comparing.state_of(way), running=comparing.running is way, kept=comparing.may_keep(way))
        if self._comparing.ended:
            self._outcome.show(self._comparing.halves, self._info)
            self._show_parting()
        else:
            self._outcome.say(self._comparing.progress)
        self.refresh_bindings()

    def _show_parting(self) -> None:
        at = parting(self._comparing.halves)
        for way, half in self._comparing.halves.items():
            if at is not None and at < len(half.tokens):
                self._views[way].mark(half.tokens[at])

    @property
    def _outcome(self) -> Outcome:
        return self.query_one(Outcome)

    def _legend(self) -> Text:
        return legend_text(short=True, colour=not self.app.no_color)
