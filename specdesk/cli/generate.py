"""One answer from models to standard output, JSON and trace: the working half of `specdesk run`."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from specdesk.cli.console import ColorWhen, say, stderr_console, styled_console
from specdesk.cli.models import Chosen
from specdesk.cli.painter import Painter, PlainPainter, SilentPainter, TokenPainter, legend
from specdesk.cli.report import Trace, settings_record, stats_record, summary_line
from specdesk.core.events import Event, Finished, Step, StopReason
from specdesk.core.tally import Tally
from specdesk.engine.client import AnswerOptions, Engine, EngineInfo, Message, native_output
from specdesk.errors import EXIT_INTERRUPTED
from specdesk.settings import EngineSettings


@dataclass(frozen=True, slots=True)
class Output:
    """What is to be shown, and where."""

    color: ColorWhen
    show_rejected: bool
    as_json: bool
    trace: Path | None
    verbose: bool


@dataclass(slots=True)
class Answer:
    """An answer as it grows."""

    text: str = ""
    token_ids: list[int] = field(default_factory=list)
    reason: StopReason = StopReason.CANCELLED
    tally: Tally = field(default_factory=Tally)

    def add(self, event: Event) -> None:
        """Take the next event into account."""
        self.tally.add(event)
        match event:
            case Step():
                self.token_ids.extend(token.id for token in event.tokens)
                self.text += "".join(delta.text for delta in event.deltas)
            case Finished():
                self.text += "".join(delta.text for delta in event.deltas)
                self.reason = event.reason
            case _:
                pass


def generate(
    prompt: str | Sequence[Message],
    chosen: Chosen,
    engine_settings: EngineSettings,
    options: AnswerOptions,
    output: Output,
) -> int:
    """Load the models, decode, show; returns the exit code. A string is completed as it is, messages are chatted.

    Raises: SpecdeskError for what the models, the prompt or the disk refuse.
    """
    styled = None if output.as_json else styled_console(sys.stdout, output.color)
    if output.show_rejected and styled is None:
        say("--show-rejected needs a terminal or --color always: rejected tokens are not shown")
    with ExitStack() as stack:
        # Opened first: a trace that cannot be written is not worth loading models for, and /dev/stderr still is what
        # the user means by it.
        trace = stack.enter_context(Trace(output.trace)) if output.trace is not None else None
        native_output(verbose=output.verbose)
        with _waiting("loading models"):
            engine = stack.enter_context(Engine(engine_settings, say))
        if chosen.draft is None and options.lookahead:
            say("no --draft: decoding plainly, one token per target pass")
        painter: Painter = SilentPainter()
        if styled is not None:
            speculating = engine.info.draft is not None
            painter = TokenPainter(styled, speculating=speculating, show_rejected=output.show_rejected)
            if speculating:
                stderr_console().print(legend(show_rejected=output.show_rejected))
        elif not output.as_json:
            painter = PlainPainter(sys.stdout)
        stack.enter_context(_ctrl_c_cancels(engine.cancel))
        answer = Answer()
        for event in engine.complete(prompt, options) if isinstance(prompt, str) else engine.chat(prompt, options):
            answer.add(event)
            painter.paint(event)
            if trace is not None and isinstance(event, Step):
                trace.add(event, answer.tally, engine.info)
        if output.as_json:
            print(json.dumps(_record(answer, chosen, engine.info, options), ensure_ascii=False))  # noqa: T201
        say(summary_line(answer.tally, answer.reason))
    return EXIT_INTERRUPTED if answer.reason is StopReason.CANCELLED else 0


def _record(answer: Answer, chosen: Chosen, info: EngineInfo, options: AnswerOptions) -> dict[str, object]:
    return {
        "text": answer.text,
        "token_ids": answer.token_ids,
        "stop_reason": answer.reason.value,
        "pair": chosen.pair,
        "target": info.target.file,
        "draft": info.draft.file if info.draft is not None else None,
        "settings": settings_record(info, options),
        "stats": stats_record(answer.tally),
    }


@contextmanager
def _waiting(what: str) -> Iterator[None]:
    """A spinner on standard error while `what` goes on; nothing where standard error is no terminal."""
    console = stderr_console()
    if console.is_terminal:
        with console.status(f"{what} ..."):
            yield
    else:
        yield


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
