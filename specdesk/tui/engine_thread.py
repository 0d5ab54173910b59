"""The one thread that owns the engine: it loads it, asks it one question after another, and closes it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import textual.message

from specdesk.core.events import Event
from specdesk.core.interrupted import Interrupted
from specdesk.engine.client import AnswerOptions, EngineInfo, Message, StopFlag
from specdesk.errors import SpecdeskError
from specdesk.tui.conversation import Question
from specdesk.tui.messages import (
    AnswerFailed,
    EngineCrashed,
    EngineEvent,
    EngineLoaded,
    EngineNotice,
    LoadFailed,
)


class EngineLike(Protocol):
    """What the chat needs of an engine."""

    @property
    def info(self) -> EngineInfo:
        """What runs, and how."""

    def chat(self, messages: Sequence[Message], options: AnswerOptions) -> Iterator[Event]:
        """Decode the next answer. Raises SpecdeskError."""

    def close(self) -> None:
        """Free the models."""


Load = Callable[[Callable[[str], None], StopFlag], EngineLike]
"""Loads the models, given where to send notices and what stops it. Raises SpecdeskError, and Interrupted if stopped."""


class EngineThread:
    """Runs an engine beside the screen. Its methods are for the screen's thread; messages go the other way.

    An answer never begins before the last one has returned. Nothing is posted after `close` returns.
    """

    def __init__(self, load: Load, post: Callable[[textual.message.Message], bool]) -> None:
        """`post` may be called from another thread; False from it means that nobody listens any more."""
        self._load = load
        self._post = post
        self._questions: queue.SimpleQueue[Question | None] = queue.SimpleQueue()
        self._stop = StopFlag()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._main, name="engine")

    def start(self) -> None:
        """Begin to load; EngineLoaded or LoadFailed will tell how it went."""
        if not self._closing.is_set():
            self._thread.start()

    def ask(self, question: Question) -> None:
        """Have a question answered: events until Finished, or AnswerFailed. One at a time."""
        self._stop.clear()
        self._questions.put(question)

    def cancel(self) -> None:
        """End the answer under way, also one that has not begun yet; Finished still comes."""
        self._stop.set()

    def close(self) -> None:
        """End the answer under way and free the models; returns when that is done. May be called again."""
        self._closing.set()
        self.cancel()
        self._questions.put(None)
        if self._thread.ident is not None:
            self._thread.join()

    def _main(self) -> None:
        try:
            try:
                engine = self._load(self._notify, self._stop)
            except SpecdeskError as error:
                self._tell(LoadFailed(error))
                return
            except Interrupted:  # by closing: nothing else stops a load
                return
            try:
                self._tell(EngineLoaded(engine.info))
                while (question := self._questions.get()) is not None and not self._closing.is_set():
                    self._answer(engine, question)
            finally:
                engine.close()
        except Exception as error:  # the screen raises it again, where a traceback can be seen
            self._tell(EngineCrashed(error))

    def _answer(self, engine: EngineLike, question: Question) -> None:
        try:
            for event in engine.chat(question.messages, question.options):
                if not self._tell(EngineEvent(event)):
                    self._stop.set()
        except SpecdeskError as error:
            self._tell(AnswerFailed(error))

    def _notify(self, text: str) -> None:
        self._tell(EngineNotice(text))

    def _tell(self, message: textual.message.Message) -> bool:
        return not self._closing.is_set() and self._post(message)
