"""The conversation that is open: what is asked goes to engine and store, what comes back to the transcript."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Protocol

from textual.timer import Timer

from specdesk.core.events import Event, Step
from specdesk.engine.client import EngineInfo
from specdesk.errors import SpecdeskError
from specdesk.records import step_of
from specdesk.store.chat_store import ChatStore
from specdesk.store.encoding import undamaged
from specdesk.store.values import ChatMessage, Role
from specdesk.tui.chat.answering import Answering
from specdesk.tui.chat.attempts import ShowsErrors, done, result_of
from specdesk.tui.chat.showing import Showing
from specdesk.tui.chat_options import ChatOptions
from specdesk.tui.conversation import Conversation, Question
from specdesk.tui.engine_thread import EngineThread
from specdesk.tui.figures import Figures
from specdesk.tui.setup import Setup
from specdesk.tui.widgets.answer import AnswerTurn
from specdesk.tui.widgets.transcript import Transcript
from specdesk.tui.widgets.turn import Turn
from specdesk.tui.widgets.turns import Notice, UserTurn


class Owner(ShowsErrors, Protocol):
    """Whose desk it is; it shows what the disk refuses, and what cannot be asked."""

    def set_timer(self, delay: float, callback: Callable[[], None], /) -> Timer:
        """Call back after so many seconds."""

    def show_figures(self, figures: Figures) -> None:
        """These are the figures of the answer under way, or else of the last one."""

    def forget_figures(self) -> None:
        """There is no such answer, and no token of it."""


class Desk:
    """Asks one question at a time. What the store refuses goes to the owner."""

    def __init__(self, owner: Owner, engine: EngineThread, store: ChatStore, setup: Setup, showing: Showing) -> None:
        self.info: EngineInfo | None = None
        """What answers, or did last; None before there was anything."""
        self._setup = setup
        self._showing = showing
        self._owner = owner
        self._engine = engine
        self._store = store
        self._conversation = Conversation(store)
        self._answering: Answering | None = None
        self._unheard: Turn | None = None
        """A question that was stopped before its answer, and is no part of the conversation: shown until the next."""

    def lay(self, transcript: Transcript) -> None:
        """Where it is to be seen."""
        self._transcript = transcript

    @property
    def chat_id(self) -> int | None:
        """The chat that is open; None for one that nothing was said in."""
        return self._conversation.chat_id

    @property
    def is_answering(self) -> bool:
        """Whether an answer is under way."""
        return self._answering is not None

    # --- asking

    def ask(self, text: str, instead: Turn | None = None) -> bool:
        """Ask behind what was said, or in the place of another question; whether that was done."""
        info, options = self.info, self._setup.options
        if info is None:
            return False
        earlier = None if instead is None else instead.message
        if earlier is None:
            question = result_of(lambda: self._conversation.ask(text, options, info), self._owner)
        else:
            question = result_of(lambda: self._conversation.ask_instead(earlier, text, options, info), self._owner)
        if question is None:
            return False
        first = instead or self._unheard
        if first is not None:
            self._transcript.clear_from(first)
        self._transcript.add(UserTurn(text))
        self._answer(question)
        return True

    def answer_again(self, turn: Turn) -> bool:
        """Have another answer to the same question; whether that was done."""
        question = self._of_kept(turn, self._conversation.answer_again)
        if question is None:
            return False
        self._transcript.clear_from(turn)
        self._answer(question)
        return True

    def go_on(self, turn: Turn) -> bool:
        """Have the rest of an answer that was cut short; whether that was done."""
        if not isinstance(turn, AnswerTurn):
            return False
        earlier = [] if turn.message is None else self._steps(turn.message.id)
        question = self._of_kept(turn, partial(self._conversation.go_on, earlier))
        if question is None:
            return False
        turn.resume(earlier)
        self._answer(question, turn)
        return True

    def _of_kept(self, turn: Turn, ask: Callable[[ChatMessage, ChatOptions, EngineInfo], Question]) -> Question | None:
        message, info = turn.message, self.info
        if message is None or info is None:
            return None
        return result_of(lambda: ask(message, self._setup.options, info), self._owner)

    def _answer(self, question: Question, turn: AnswerTurn | None = None) -> None:
        """Have a question answered on a new turn, or go on with `turn`."""
        self._owner.forget_figures()
        self._unheard = None
        if turn is None:
            turn = self._answer_turn(question.options.seed)
            self._transcript.add(turn)
        figures = partial(self._show_figures, turn)
        self._answering = Answering(self._conversation, turn, self._owner.set_timer, figures, self._unkept)
        self._transcript.follow()
        self._show_figures(turn)
        self._engine.ask(question)

    # --- the answer under way

    def add(self, event: Event) -> None:
        """Take the next event of it."""
        if self._answering is not None:
            self._answering.add(event)

    def conclude(self, error: SpecdeskError | None, *, stopped: bool) -> str | None:
        """End it, in an error or without; a question that got no answer is handed back."""
        answering, self._answering = self._answering, None
        if answering is None:
            return None
        answering.end(error)
        said = result_of(lambda: self._conversation.turns, self._owner) or []
        # Those above know theirs, or are no part of the conversation.
        for turn, message in zip(self._transcript.turns[-2:], said[-2:], strict=False):
            turn.know(message)
        if answering.turn.text or not (stopped or error is not None) or len(said) < 2:
            return None
        answering.turn.disown()
        if error is None:  # which is to be read for longer
            self._unheard = next(iter(self._transcript.turns[-2:]), None)
        return said[-2].text

    def keep(self) -> None:
        """Have kept what came of it, when nobody waits for more."""
        answering, self._answering = self._answering, None
        if answering is not None:
            answering.end()

    # --- what lies on the desk

    def clear(self) -> None:
        """Begin another chat."""
        self._conversation = Conversation(self._store)
        self._transcript.clear()
        self._unheard = None
        self._owner.forget_figures()

    def open(self, chat_id: int, at: int | None = None) -> None:
        """Show a chat, at one of its messages, in whatever branch that is, or at its end."""
        if at is not None and not done(lambda: self._store.show(at), self._owner):
            return
        conversation = Conversation(self._store, chat_id)
        said = result_of(lambda: conversation.turns, self._owner)
        if said is None:
            return
        self.clear()
        self._conversation = conversation
        for message in said:
            turn = self._turn_of(message)
            self._transcript.add(turn)
            if message.id == at:
                turn.focus()
        self._transcript.follow()
        last = next((message for message in reversed(said) if message.role is Role.ASSISTANT), None)
        if last is not None:
            self._show_figures_of(last)

    def switch(self, turn: Turn, step: int) -> None:
        """Show the next branch in that direction at the place of a turn."""
        message = turn.message
        if message is None or self.is_answering:
            return
        other = message.siblings[(message.sibling_index + step) % len(message.siblings)]
        if done(lambda: self._store.switch_branch(other), self._owner):
            self.open(message.chat_id, other)

    def _turn_of(self, message: ChatMessage) -> Turn:
        if message.role is Role.USER:
            return UserTurn(message.text, message)
        turn = self._answer_turn()
        turn.restore(message, partial(self._steps, message.id))
        return turn

    def _show_figures_of(self, message: ChatMessage) -> None:
        figures = Figures()
        # A trace that cannot be read is told of where its tokens are to be seen.
        with suppress(SpecdeskError):
            for step in self._read_steps(message.id):
                figures.add(step)
        self._owner.show_figures(figures)

    def _steps(self, message_id: int) -> list[Step]:
        """The steps of a kept answer; none where they cannot be read, which is said."""

        return result_of(lambda: self._read_steps(message_id), self._owner) or []

    def _read_steps(self, message_id: int) -> list[Step]:
        with undamaged(f"the trace of message {message_id}"):
            return [step_of(record) for record in self._store.trace(message_id)]

    def _answer_turn(self, seed: int | None = None) -> AnswerTurn:
        info = self.info
        return AnswerTurn(
            "the model" if info is None else info.target.name,
            show_rejected=self._showing.shows_rejected,
            view=self._showing.view,
            seed=seed,
            n_ctx=0 if info is None else info.n_ctx,
        )

    def _show_figures(self, turn: AnswerTurn) -> None:
        self._owner.show_figures(turn.figures)

    def _unkept(self, error: SpecdeskError) -> None:
        self._owner.show_error(error)
        self._transcript.add(Notice("the rest of this answer is not kept"))
