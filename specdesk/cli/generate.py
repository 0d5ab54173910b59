"""One answer from models to standard output, JSON and trace: the working half of `specdesk run`."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from specdesk.cli.console import ColorWhen, say, stderr_console, styled_console
from specdesk.cli.painter import Painter, PlainPainter, SilentPainter, TokenPainter, legend_line
from specdesk.cli.records import Trace, answer_record, step_record
from specdesk.cli.summary import summary_line
from specdesk.core.answer import Answer
from specdesk.core.events import Step, StopReason
from specdesk.engine.client import AnswerOptions, Engine, EngineInfo, Message
from specdesk.errors import EXIT_INTERRUPTED
from specdesk.settings import EngineSettings
from specdesk.wording import NO_DRAFT


@dataclass(frozen=True, slots=True)
class Output:
    """What is to be shown, and where."""

    color: ColorWhen
    show_rejected: bool
    as_json: bool
    trace: Trace | None


def generate(
    prompt: str | Sequence[Message],
    pair: str | None,
    settings: EngineSettings,
    options: AnswerOptions,
    output: Output,
) -> int:
    """Load the models, decode, show; returns the exit code. A string is completed as it is, messages are chatted.

    Raises: SpecdeskError for what the models, the prompt or the disk refuse.
    """
    with _loaded(settings) as engine, _ctrl_c_cancels(engine.cancel):
        if engine.info.draft is None and options.lookahead:
            say(NO_DRAFT)
        painter = _painter(output, engine.info)
        answer = Answer()
        for event in engine.complete(prompt, options) if isinstance(prompt, str) else engine.chat(prompt, options):
            answer.add(event)
            painter.paint(event)
            if output.trace is not None and isinstance(event, Step):
                output.trace.add(step_record(event, answer.tally, engine.info))
        if output.as_json:
            print(json.dumps(answer_record(answer, pair, engine.info, options), ensure_ascii=False))  # noqa: T201
        reason = answer.reason or StopReason.CANCELLED
        say(summary_line(answer.tally, reason))
    return EXIT_INTERRUPTED if reason is StopReason.CANCELLED else 0


def _painter(output: Output, info: EngineInfo) -> Painter:
    if output.as_json:
        return SilentPainter()
    styled = styled_console(sys.stdout, output.color)
    if styled is None:
        if output.show_rejected:
            say("--show-rejected needs a terminal or --color always: rejected tokens are not shown")
        return PlainPainter(sys.stdout)
    if info.draft is not None:
        stderr_console().print(legend_line(show_rejected=output.show_rejected))
    return TokenPainter(styled, speculating=info.draft is not None, show_rejected=output.show_rejected)


@contextmanager
def _loaded(settings: EngineSettings) -> Iterator[Engine]:
    """The engine; while it loads, a spinner on a standard error that is a terminal."""
    console = stderr_console()
    if console.is_terminal:
        with console.status("loading models ..."):
            engine = Engine(settings, say)
    else:
        engine = Engine(settings, say)
    with engine:
        yield engine


@contextmanager
def _ctrl_c_cancels(cancel: Callable[[], None]) -> Iterator[None]:
    """The first Ctrl-C ends the answer and keeps what is there; a second one ends the program."""

    def handle(_signal: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        cancel()

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
