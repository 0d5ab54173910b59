"""A scripted engine for the chat: it answers with the events that a test feeds it, when the test feeds them."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from specdesk.core.events import (
    AnswerToken,
    Delta,
    DraftedToken,
    Event,
    Finished,
    Outcome,
    PromptRead,
    Source,
    Step,
    StopReason,
)
from specdesk.core.sampling import Sampling
from specdesk.engine.client import AnswerOptions, EngineInfo, Message, ModelInfo, StopFlag
from specdesk.settings import EngineSettings
from specdesk.tui.chat_options import ChatOptions
from specdesk.tui.preferences.catalogue import SAMPLING_KEYS, Values

OPTIONS = ChatOptions(Sampling(temperature=0.7), lookahead=4, seed=42)
FILES = EngineSettings(Path("big.gguf"), Path("small.gguf"))
TARGET = ModelInfo("Big [b + 1 Model", "big.gguf", 0)
DRAFT = ModelInfo("Small Model", "small.gguf", 0)
END = Finished(StopReason.EOG, ())
PATIENCE_S = 10.0


@dataclass
class ScriptedEngine:
    """An EngineLike: `feed` gives it the next events; a fed error is raised; the stop flag ends the answer."""

    info: EngineInfo = field(default_factory=lambda: EngineInfo(TARGET, DRAFT, 4096, 2))
    asked: list[tuple[tuple[Message, ...], AnswerOptions]] = field(default_factory=list)
    closed: bool = False
    overlapped: bool = False
    threads: set[int] = field(default_factory=set)
    stop: StopFlag = field(default_factory=StopFlag)
    stopped: bool = False
    _script: queue.SimpleQueue[Event | Exception] = field(default_factory=queue.SimpleQueue)
    _busy: threading.Lock = field(default_factory=threading.Lock)

    def feed(self, *script: Event | Exception) -> None:
        for item in script:
            self._script.put(item)

    def chat(self, messages: Sequence[Message], options: AnswerOptions) -> Iterator[Event]:
        self.asked.append((tuple(messages), options))
        self.threads.add(threading.get_ident())
        return self._answer()

    def _answer(self) -> Iterator[Event]:
        self.overlapped |= not self._busy.acquire(blocking=False)
        try:
            while True:
                item = self._next()
                if isinstance(item, Exception):
                    raise item
                yield item
                if isinstance(item, Finished):
                    return
        finally:
            self._busy.release()

    def _next(self) -> Event | Exception:
        """What was fed, unless the flag is set first: then the end of a cancelled answer."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if self.stop.is_set():
                self.stopped = True
                return Finished(StopReason.CANCELLED, ())
            with contextlib.suppress(queue.Empty):
                return self._script.get(timeout=0.005)
        raise queue.Empty

    def close(self) -> None:
        self.threads.add(threading.get_ident())
        self.closed = True


def step(
    accepted: Sequence[str] = (),
    then: str = "",
    *,
    rejected: Sequence[str] = (),
    ignored: Sequence[str] = (),
    index: int = 0,
    first: int = 0,
    draft_s: float = 0.01,
    target_s: float = 0.03,
    step_s: float = 0.05,
    plain_s: float = 0.04,
) -> Step:
    """A step as `decode` makes them: draft tokens by what became of them, then the target's own token.

    `first` is the number of its first token in the answer.
    """
    fates = [(accepted, Outcome.ACCEPTED), (rejected, Outcome.REJECTED), (ignored, Outcome.IGNORED)]
    drafted = tuple(DraftedToken(0, text, 0.5, 0.5, fate) for texts, fate in fates for text in texts)
    last = Source.PLAIN if not drafted else Source.REPLACEMENT if rejected else Source.BONUS
    written = [*((text, Source.ACCEPTED) for text in accepted), *([(then, last)] if then else [])]
    return Step(
        index=index,
        lookahead=len(drafted),
        reason="fixed" if drafted else "no draft would pay: costs 24 ms, saves 11 ms",
        drafter="model" if drafted else None,
        parity="test",
        drafted=drafted,
        tokens=tuple(AnswerToken(0, text, source, 0.5, 0.0) for text, source in written),
        deltas=tuple(Delta(text, source, first + i) for i, (text, source) in enumerate(written)),
        draft_s=draft_s,
        target_s=target_s,
        step_s=step_s,
        plain_s=plain_s,
    )


def prompt_read(n: int = 10) -> PromptRead:
    return PromptRead(n_read=n - 1, n_total=n, n_reused=0, elapsed_s=0.1)


def values_of(options: ChatOptions) -> Values:
    """The settings that lead to these options."""
    return {
        **{key: getattr(options.sampling, key) for key in SAMPLING_KEYS},
        **{key: getattr(options, key) for key in ("lookahead", "seed", "system", "max_tokens", "verify", "drafter")},
    }
