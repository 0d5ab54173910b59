"""`specdesk run`: one prompt, one answer."""

from __future__ import annotations

import secrets
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from specdesk.cli.checks import is_text, not_empty
from specdesk.cli.console import ColorWhen
from specdesk.cli.grouping import grouped
from specdesk.cli.options.answers import Grammar, JsonSchema, MaxTokens, SamplingOptions, System
from specdesk.cli.options.drafts import Speculation
from specdesk.cli.options.engine import EngineOptions, Verbose
from specdesk.cli.options.models import Models
from specdesk.cli.sampling import as_rule, as_sampling
from specdesk.errors import UsageError


@grouped
def run(
    *,
    prompt: Annotated[
        str, typer.Argument(metavar="PROMPT", callback=is_text, help="What to ask; - reads it from standard input.")
    ],
    models: Models,
    system: System = None,
    raw: Annotated[bool, typer.Option("--raw", help="Continue PROMPT as it is, without the chat template.")] = False,
    truncate: Annotated[
        bool,
        typer.Option("--truncate", help="Leave out the beginning of a PROMPT that the context cannot hold."),
    ] = False,
    allow_plain: Annotated[
        bool,
        typer.Option(
            "--allow-plain",
            help="Decode plainly, and say why, where the draft cannot be loaded or does not fit the target.",
        ),
    ] = False,
    max_tokens: MaxTokens = None,
    sampling: SamplingOptions,
    grammar: Grammar = None,
    json_schema: JsonSchema = None,
    stop: Annotated[
        list[str] | None,
        typer.Option(
            "--stop", metavar="TEXT", callback=not_empty, help="End the answer before this text. May be repeated."
        ),
    ] = None,
    speculation: Speculation,
    engine: EngineOptions,
    color: Annotated[
        ColorWhen, typer.Option("--color", help="Tell drafted and target-written tokens apart.")
    ] = ColorWhen.AUTO,
    show_rejected: Annotated[
        bool, typer.Option("--show-rejected", help="Show rejected draft tokens too, struck through.")
    ] = False,
    show_prompt_tokens: Annotated[
        bool,
        typer.Option(
            "--show-prompt-tokens", help="List what is fed to both models: each token's id and text, on standard error."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the text.")] = False,
    trace: Annotated[
        Path | None,
        typer.Option("--trace", metavar="FILE", help="Write one JSON line per target pass to FILE."),
    ] = None,
    verbose: Verbose = False,
) -> int:
    """Generate an answer, and say what speculation brought.

    The answer goes to standard output, all else to standard error. The recommended pair is fetched if it is absent.

    The speedup is against plain decoding on this machine, by costs that are measured once and follow its speed from
    pass to pass. Reading the prompt is left out on both sides, except that the draft reading it counts against
    speculation. Under 16 tokens there is no figure.

    Exit codes: 0 done, 1 generation failed, 2 usage, 3 model, 4 network, 5 storage, 130 stopped with Ctrl-C.
    """
    text = _standard_input() if prompt == "-" else prompt
    if not text.strip():
        raise UsageError("the prompt is empty")
    if raw and system is not None:
        raise UsageError("--raw and --system exclude each other", "--raw sends the prompt alone")
    if as_json and (show_rejected or color is ColorWhen.ALWAYS):
        raise UsageError("--json has no colours and no rejected tokens", "--trace FILE writes every draft token")

    # Loading NumPy and llama.cpp takes a moment that --help should not.
    from specdesk.cli.chosen_models import choose, engine_settings
    from specdesk.cli.generate import Output, generate
    from specdesk.cli.grammar import grammar_text
    from specdesk.cli.trace import Trace
    from specdesk.engine.client import AnswerOptions, Message, Overflow

    constraint = grammar_text(grammar, json_schema)
    # The trace comes first: one that cannot be written is not worth a download, and /dev/stderr is still the user's.
    with Trace(trace) if trace is not None else nullcontext() as tracer:
        chosen = choose(models, engine)
        turns = [Message("system", system)] if system is not None else []
        return generate(
            text if raw else [*turns, Message("user", text)],
            chosen.pair,
            engine_settings(
                chosen,
                engine,
                lookahead=speculation.lookahead,
                exact=speculation.exact,
                drafter=speculation.drafter,
                allow_plain=allow_plain,
            ),
            AnswerOptions(
                as_sampling(sampling),
                secrets.randbits(32) if sampling.seed is None else sampling.seed,
                speculation.lookahead,
                max_tokens,
                tuple(stop or ()),
                as_rule(speculation),
                grammar=constraint,
                drafter=speculation.drafter,
                overflow=Overflow.TEXT if truncate else Overflow.REFUSE,
                placed=tracer is not None,
                tells_prompt=show_prompt_tokens,
                repeatable=sampling.seed is not None,
            ),
            Output(color, show_rejected=show_rejected, as_json=as_json, trace=tracer, verbose=verbose),
        )


def _standard_input() -> str:
    """All of it, as UTF-8 whatever the locale. Raises UsageError for other bytes."""
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"standard input is not UTF-8 text: {error.reason} at byte {error.start}") from error
