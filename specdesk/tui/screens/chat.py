"""The chat: one conversation, its answers as they are decoded, and what speculation brings."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Footer

from specdesk.core.events import Event, Finished
from specdesk.errors import SpecdeskError
from specdesk.tui.conversation import ChatOptions, Conversation
from specdesk.tui.engine_thread import EngineThread
from specdesk.tui.figures import Figures
from specdesk.tui.messages import (
    AnswerFailed,
    EngineCrashed,
    EngineEvent,
    EngineLoaded,
    EngineLost,
    EngineNotice,
    EngineProgress,
    LoadFailed,
)
from specdesk.tui.state import REFUSALS, State
from specdesk.tui.widgets.header import ChatHeader
from specdesk.tui.widgets.prompt import Prompt
from specdesk.tui.widgets.speed import SpeedPanel, SpeedStrip
from specdesk.tui.widgets.transcript import Transcript
from specdesk.tui.widgets.turns import AnswerTurn, Failure, Notice, UserTurn
from specdesk.wording import notes

REPAINT_S = 1 / 15
"""Events are shown this often at most; between two repaints they are collected."""


class ChatScreen(Screen[None]):
    """Shows the engine's messages and sends it questions."""

    CSS_PATH = "chat.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (80, "-wide")]  # noqa: RUF012 — Textual declares it so
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "stop", "Stop", id="chat.stop", tooltip="End the answer here and keep what is there."),
        Binding("ctrl+c", "interrupt", id="chat.interrupt", show=False, priority=True),
        Binding(
            "ctrl+t", "toggle_rejected", "Rejected", id="chat.rejected", tooltip="Show or hide rejected draft tokens."
        ),
        Binding("ctrl+n", "new_chat", "New chat", id="chat.new", tooltip="Forget this conversation and begin another."),
        Binding("ctrl+r", "reload", "Reload", id="chat.reload", tooltip="Load the models again."),
        Binding("pageup", "scroll(-1)", id="chat.page_up", show=False, priority=True),
        Binding("pagedown", "scroll(1)", id="chat.page_down", show=False, priority=True),
    ]

    def __init__(self, engine: EngineThread, options: ChatOptions) -> None:
        super().__init__()
        self._engine = engine
        self._options = options
        self._conversation = Conversation(options)
        self._author = ""
        self._speculating = False
        self._answer: AnswerTurn | None = None
        self._pending: list[Event] = []
        self._repaint: Timer | None = None
        self._show_rejected = True
        self._state = State.LOADING

    def compose(self) -> ComposeResult:
        """Header, conversation beside the speed panel, prompt, keys."""
        yield ChatHeader(self._options)
        with Horizontal(id="body"):
            yield Transcript(State.LOADING.value)
            yield SpeedPanel()
        yield SpeedStrip()
        yield Prompt()
        yield Footer()

    def on_mount(self) -> None:
        """Ready to be written in, before there is an engine."""
        self.set_class(self.app.no_color, "-no-color")
        self.query_one(Prompt).focus()
        self._show_figures(Figures())
        self._enter(State.LOADING)

    # --- what the engine's thread says

    def on_engine_notice(self, message: EngineNotice) -> None:
        """Keep it where it can be read again."""
        self._transcript.add(Notice(f"note: {message.text}"))

    def on_engine_progress(self, message: EngineProgress) -> None:
        """Say what is waited for."""
        if self._state is State.LOADING:
            self.query_one(Prompt).expect(f"{message.text} …", REFUSALS[State.LOADING])

    def on_engine_loaded(self, message: EngineLoaded) -> None:
        """Open for questions."""
        self._author = message.info.target.name
        info = message.info
        lookahead = info.lookahead(self._options.answer_options(0))
        self._speculating = lookahead > 0
        self.query_one(ChatHeader).show(info)
        for note in notes(lookahead, wanted=self._options.lookahead, widest=info.widest):
            self._transcript.add(Notice(f"note: {note}"))
        self._enter(State.READY)
        self._transcript.say_first(
            "Ask something. Colours show who wrote each token; struck text was drafted and refused, Ctrl+T hides it."
        )

    def on_load_failed(self, message: LoadFailed) -> None:
        """Say why; it may be tried again."""
        self._transcript.say_first("The models could not be loaded.")
        self._transcript.add(Failure(message.error))
        self._enter(State.BROKEN)

    def on_engine_event(self, message: EngineEvent) -> None:
        """Collect it for the next repaint; the last one of an answer is shown at once."""
        self._pending.append(message.event)
        if isinstance(message.event, Finished):
            self._show_pending()
            self._conclude(None)
        elif self._repaint is None:
            self._repaint = self.set_timer(REPAINT_S, self._show_pending)

    def on_answer_failed(self, message: AnswerFailed) -> None:
        """Keep what is there and say what happened."""
        self._show_pending()
        self._conclude(message.error)

    def on_engine_lost(self, message: EngineLost) -> None:
        """Keep what is there; the models may be loaded again."""
        self._show_pending()
        if self._answer is not None:
            self._conclude(message.error)
        else:
            self._transcript.add(Failure(message.error))
        self._enter(State.BROKEN)

    def on_engine_crashed(self, message: EngineCrashed) -> None:
        """A bug: it ends the app with its traceback."""
        raise message.error

    # --- what the user does

    @on(Prompt.Sent)
    def ask(self, message: Prompt.Sent) -> None:
        """Send the whole conversation with this question."""
        question = self._conversation.ask(message.text)
        self._answer = AnswerTurn(
            self._author,
            question.options.seed,
            speculating=self._speculating,
            show_rejected=self._show_rejected,
        )
        self._transcript.add(UserTurn(message.text), self._answer)
        self._transcript.follow()
        self._show_figures(self._answer.figures)
        self._enter(State.ANSWERING)
        self._engine.ask(question)

    def action_stop(self) -> None:
        """End the answer under way."""
        if self._state is State.ANSWERING:
            self._enter(State.STOPPING)
            self._engine.cancel()

    async def action_interrupt(self) -> None:
        """As in the shell: the first Ctrl-C ends the answer, one without an answer ends the program."""
        if self._state is State.ANSWERING:
            self.action_stop()
        else:
            await self.app.action_quit()

    def action_reload(self) -> None:
        """Load the models again."""
        if self._state is State.BROKEN:
            self._enter(State.LOADING)
            self._engine.reload()

    def action_toggle_rejected(self) -> None:
        """Show or hide what the target refused, in all answers."""
        self._show_rejected = not self._show_rejected
        for answer in self._transcript.answers:
            answer.tokens.show_rejected(self._show_rejected)

    def action_new_chat(self) -> None:
        """Begin again with an empty history."""
        self._conversation.clear()
        self._transcript.clear()
        self._show_figures(Figures())

    def action_scroll(self, pages: int) -> None:
        """Page through the transcript while the prompt keeps the focus."""
        self._transcript.page(pages)

    def check_action(
        self,
        action: str,
        parameters: tuple[object, ...],  # noqa: ARG002 — Textual's signature
    ) -> bool | None:
        """Grey out what has no effect now."""
        if action == "stop":
            return True if self._state is State.ANSWERING else None
        if action == "reload":
            return self._state is State.BROKEN
        if action == "new_chat":
            return True if self._state is State.READY else None
        return True

    # --- how it is shown

    @property
    def _transcript(self) -> Transcript:
        return self.query_one(Transcript)

    def _enter(self, state: State) -> None:
        self._state = state
        self.query_one(Prompt).expect(state.value, REFUSALS.get(state))
        self.refresh_bindings()

    def _show_pending(self) -> None:
        if self._repaint is not None:
            self._repaint.stop()
            self._repaint = None
        events, self._pending = self._pending, []
        if self._answer is not None and events:
            self._answer.add(events)
            self._show_figures(self._answer.figures)

    def _show_figures(self, figures: Figures) -> None:
        self.query_one(SpeedPanel).show(figures)
        self.query_one(SpeedStrip).show(figures)

    def _conclude(self, error: SpecdeskError | None) -> None:
        """Put the answer into the history; a question that got none leaves it and goes back to the prompt."""
        answer, self._answer = self._answer, None
        if answer is None:
            return
        if error is not None:
            answer.fail(error)
        unanswered = error is not None or self._state is State.STOPPING
        if unanswered and not answer.figures.answer.text:
            question = self._conversation.withdraw()
            answer.disown()
            prompt = self.query_one(Prompt)
            if not prompt.text:
                prompt.insert(question)  # to be sent again, perhaps changed
        else:
            self._conversation.answered(answer.figures.answer.text)
        self._enter(State.READY)
