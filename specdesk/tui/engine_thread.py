"""The one thread that owns the engine: it loads it, asks it one question after another, and closes it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import textual.message

from specdesk.core.events import Event
from specdesk.core.interrupted import Interrupted
from specdesk.engine.client import AnswerOptions, EngineInfo, Message, StopFlag
from specdesk.errors import EngineDiedError, SpecdeskError
from specdesk.tui.conversation import Request
from specdesk.tui.messages import (
    AnswerFailed,
    EngineCrashed,
    EngineEvent,
    EngineLoaded,
    EngineLost,
    EngineNotice,
    EngineProgress,
    EngineReloading,
    LoadFailed,
)


class EngineLike(Protocol):
    """What the chat needs of an engine."""

    info: EngineInfo
    """What runs, and how."""

    def chat(self, messages: Sequence[Message], options: AnswerOptions) -> Iterator[Event]:
        """Decode the next answer. Raises SpecdeskError."""

    def close(self) -> None:
        """Free the models."""


class Load(Protocol):
    """Loads the models."""

    def __call__(self, notify: Callable[[str], None], stop: StopFlag, progress: Callable[[str], None]) -> EngineLike:
        """`notify` and `progress` take what there is to say, `stop` stops it.

        Raises SpecdeskError, and Interrupted if stopped.
        """


@dataclass(frozen=True, slots=True)
class _Reload:
    """Load anew."""


Post = Callable[[textual.message.Message], bool]
"""May be called from another thread; False from it means that nobody listens any more."""


@dataclass(frozen=True, slots=True)
class _Order:
    """Answer a request."""

    request: Request
    post: Post | None
    """Who is told of the answer; None: who is told of everything."""


class EngineThread:
    """Runs an engine beside the screen. Its methods are for the screen's thread; messages go the other way.

    An answer never begins before the last one has returned. Nothing is posted after `close` returns.
    """

    def __init__(self, load: Load, post: Post) -> None:
        """`post` is told of everything but of answers that somebody else asked for."""
        self._load = load
        self._post = post
        self._orders: queue.SimpleQueue[_Order | _Reload | None] = queue.SimpleQueue()
        self._stop = StopFlag()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._main, name="engine")

    def start(self, load: Load | None = None) -> None:
        """Begin to load, other models if given; EngineLoaded or LoadFailed will tell how it went."""
        self._load = load or self._load
        if not self._closing.is_set():
            self._thread.start()

    @property
    def is_held(self) -> bool:
        """Whether nothing was to be loaded yet."""
        return self._thread.ident is None

    def ask(self, request: Request, post: Post | None = None) -> None:
        """Have a request answered: events until Finished, or AnswerFailed. One at a time, of a loaded engine.

        They go to `post`, if it is given. Where the engine is lost, it is told too.
        """
        self._stop.clear()
        self._orders.put(_Order(request, post))

    def reload(self, load: Load | None = None) -> None:
        """Load the same models again, or others; an answer under way ends first. EngineLoaded or LoadFailed follows."""
        if self.is_held:
            self.start(load)
            return
        self._load = load or self._load
        self.cancel()
        self._orders.put(_Reload())

    def cancel(self) -> None:
        """End the answer under way, also one that has not begun yet; Finished still comes."""
        self._stop.set()

    def close(self) -> None:
        """End the answer under way and free the models; returns when that is done. May be called again."""
        self._closing.set()
        self.cancel()
        self._orders.put(None)
        if self._thread.ident is not None:
            self._thread.join()

    def _main(self) -> None:
        try:
            while not self._closing.is_set():
                engine = self._loaded()
                if engine is not None:
                    self._serve(engine)
                else:
                    self._until_reload()
        except Exception as error:  # the screen raises it again, where a traceback can be seen
            self._tell(EngineCrashed(error))

    def _loaded(self) -> EngineLike | None:
        try:
            engine = self._load(self._notify, self._stop, self._progress)
        except SpecdeskError as error:
            self._tell(LoadFailed(error))
            return None
        except Interrupted:  # by another load, or by closing
            return None
        self._tell(EngineLoaded(engine.info))
        return engine

    def _serve(self, engine: EngineLike) -> None:
        """Answer questions until another load is asked for, or the engine is gone."""
        try:
            while isinstance(order := self._orders.get(), _Order) and not self._closing.is_set():
                self._answer(engine, order)
        except EngineDiedError as error:
            engine.close()
            self._tell(EngineLost(error))
            self._until_reload()
        else:
            self._let_go_on()
        finally:
            engine.close()

    def _until_reload(self) -> None:
        while isinstance(self._orders.get(), _Order):
            pass
        self._let_go_on()

    def _let_go_on(self) -> None:
        if not self._closing.is_set():
            self._stop.clear()
            self._tell(EngineReloading())

    def _answer(self, engine: EngineLike, order: _Order) -> None:
        """Raises EngineDiedError where the answer ended by it."""
        try:
            for event in engine.chat(order.request.messages, order.request.options):
                if not self._tell(EngineEvent(event), order.post):
                    self._stop.set()
        except EngineDiedError as error:
            if order.post is not None:
                self._tell(EngineLost(error), order.post)
            raise
        except SpecdeskError as error:
            self._tell(AnswerFailed(error), order.post)

    def _notify(self, text: str) -> None:
        self._tell(EngineNotice(text))

    def _progress(self, text: str) -> None:
        self._tell(EngineProgress(text))

    def _tell(self, message: textual.message.Message, post: Post | None = None) -> bool:
        return not self._closing.is_set() and (post or self._post)(message)
