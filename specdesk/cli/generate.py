"""One answer from models to standard output, JSON and trace: the working half of `specdesk run`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from specdesk.cli.console import ColorWhen, Waiting, say, stderr_console, styled_console
from specdesk.cli.interrupts import stopping
from specdesk.cli.painter import Painter, PlainPainter, SilentPainter, TokenPainter, legend_line
from specdesk.cli.summary import summary_line
from specdesk.cli.trace import Trace
from specdesk.core.answer import Answer
from specdesk.core.events import HistoryCut, PromptRead, PromptTokens, Step, StopReason
from specdesk.engine.client import AnswerOptions, Engine, Message, StopFlag
from specdesk.errors import EXIT_INTERRUPTED, GenerationError
from specdesk.records import answer_record, step_record
from specdesk.settings import EngineSettings
from specdesk.wording import history_cut, notes, seldom_paid


@dataclass(frozen=True, slots=True)
class Output:
    """What is to be shown, and where."""

    color: ColorWhen
    show_rejected: bool
    as_json: bool
    trace: Trace | None
    verbose: bool
    """Whether llama.cpp's own output is shown too."""


def generate(
    prompt: str | Sequence[Message],
    pair: str | None,
    settings: EngineSettings,
    options: AnswerOptions,
    output: Output,
) -> int:
    """Load the models, decode, show; returns the exit code. A string is completed as it is, messages are chatted.

    Raises: SpecdeskError for what the models, the prompt or the disk refuse, and for an answer that a limit cut off
    inside its grammar.
    """
    stop = StopFlag()
    with ExitStack() as stack:
        stack.enter_context(stopping(stop.set))
        waiting = stack.enter_context(Waiting("loading models ..."))
        engine = stack.enter_context(Engine(settings, say, stop, waiting.now, verbose=output.verbose))
        waiting.end()
        lookahead = engine.info.lookahead(options)
        limit = engine.info.why_no_more(lookahead)
        for note in notes(lookahead, wanted=options.lookahead, widest=engine.info.widest, limit=limit):
            say(note)
        painter = _painter(output, speculating=lookahead > 0)
        answer = Answer()
        waiting = stack.enter_context(Waiting("reading the prompt ..."))
        for event in engine.complete(prompt, options) if isinstance(prompt, str) else engine.chat(prompt, options):
            answer.add(event)
            if isinstance(event, HistoryCut):
                say(history_cut(event, engine.info.n_ctx))
            elif isinstance(event, PromptTokens):
                waiting.end()
                for number, text in zip(event.ids, event.texts, strict=True):
                    print(f"{number:>8}  {_told(text)}", file=sys.stderr)  # noqa: T201
            elif not isinstance(event, PromptRead):
                waiting.end()
            painter.paint(event)
            if output.trace is not None and isinstance(event, Step):
                output.trace.add(step_record(event, answer.tally, engine.info))
        if output.as_json:
            record = answer_record(answer, pair, engine.info, options)
            # The escapes that Python writes for what an encoding lacks are not those of JSON.
            print(json.dumps(record, ensure_ascii=sys.stdout.encoding.lower() != "utf-8", allow_nan=False))  # noqa: T201
        reason = answer.reason or StopReason.CANCELLED
        say(summary_line(answer.tally, reason))
        if options.lookahead is None:
            why = seldom_paid(answer.tally, engine.info.costs, engine.draft_record)
            if why is not None:
                say(why)
        if options.grammar is not None and reason in (StopReason.LENGTH, StopReason.CONTEXT):
            raise GenerationError("the answer ends before it is complete by the grammar", "raise -n or --ctx")
    return EXIT_INTERRUPTED if reason is StopReason.CANCELLED else 0


def _told(text: str) -> str:
    """As JSON, with escapes for what cannot be seen: controls, but also blanks of other kinds, joiners, marks."""
    shown = (char if char.isprintable() else json.dumps(char)[1:-1] for char in json.dumps(text, ensure_ascii=False))
    return "".join(shown)


def _painter(output: Output, *, speculating: bool) -> Painter:
    if output.as_json:
        return SilentPainter()
    styled = styled_console(sys.stdout, output.color)
    if styled is None:
        if output.show_rejected:
            say("--show-rejected needs a terminal or --color always: rejected tokens are not shown")
        return PlainPainter(sys.stdout)
    if speculating:
        stderr_console().print(legend_line(show_rejected=output.show_rejected))
    return TokenPainter(styled, speculating=speculating, show_rejected=output.show_rejected)
