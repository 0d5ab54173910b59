"""`specdesk bench`: what speculation brings here, measured against plain decoding."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specdesk.cli.checks import not_empty, within
from specdesk.cli.console import Waiting, say
from specdesk.cli.grouping import grouped
from specdesk.cli.options.drafts import Lookahead
from specdesk.cli.options.engine import EngineOptions, Verbose
from specdesk.cli.options.models import Models
from specdesk.core.interrupted import Interrupted
from specdesk.errors import EXIT_INTERRUPTED, UsageError

_WHAT = "What is measured"
_OUTPUT = "Output"


@grouped
def bench(
    *,
    models: Models,
    task: Annotated[
        list[str] | None,
        typer.Option(
            "--task",
            metavar="NAME",
            callback=not_empty,
            help="Only prompts of this task; may be repeated. There are code, edit, json, maths, chat, summary, "
            "translation, story and retrieval, or the categories of --prompts. [default: all]",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    prompts: Annotated[
        Path | None,
        typer.Option(
            "--prompts",
            metavar="FILE",
            help='Prompts of your own: a line {"id": 1, "category": "code", "turns": ["..."]} for each conversation.',
            rich_help_panel=_WHAT,
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="One prompt of each task, 1 round, 64 tokens, unless told.", rich_help_panel=_WHAT
        ),
    ] = False,
    rounds: Annotated[
        int | None,
        typer.Option(
            "--rounds",
            metavar="N",
            callback=within(1, 1000),
            help="How often each prompt is answered plainly and with speculation, in turn. [default: 2]",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            "-n",
            "--max-tokens",
            metavar="N",
            callback=within(1, 2**31),
            help="Tokens of an answer at most. [default: 160]",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    temperature: Annotated[
        float,
        typer.Option("-t", "--temperature", metavar="T", help="0 is greedy.", rich_help_panel=_WHAT),
    ] = 0.0,
    lookahead: Lookahead = None,
    seed: Annotated[
        int,
        typer.Option(
            "--seed",
            metavar="N",
            callback=within(0, 2**63 - 1),
            help="Of the random numbers, the same in every run.",
            rich_help_panel=_WHAT,
        ),
    ] = 1,
    engine: EngineOptions,
    as_json: Annotated[
        Path | None,
        typer.Option(
            "--json",
            metavar="FILE",
            help="Write raw figures of every answer, machine, models and costs there.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write a page with plots there.", rich_help_panel=_OUTPUT),
    ] = None,
    verbose: Verbose = False,
) -> int:
    """Measure on this machine, with these models, how much faster speculation is than plain decoding.

    Prompts of nine tasks are answered plainly and with speculation in turn. Printed per task: the median speedup and
    its spread, tokens per target pass, draft tokens accepted of those tested, tokens drafted per pass (K), where the
    time went, and the time as a multiple of that with the best fixed K and of that of an oracle who knows which draft
    tokens will be accepted, both by measured costs. Let nothing else run meanwhile.

    Exit codes: 0 measured, 1 generation failed, 2 usage, 3 model, 4 network, 5 storage, 130 stopped with Ctrl-C: what
    was measured until then is printed and written.
    """
    if lookahead == 0:
        raise UsageError("-k 0 is plain decoding: there is nothing to compare it with")

    # Loading NumPy and llama.cpp takes a moment that --help should not.
    from specdesk.bench.record import Findings, machine_facts
    from specdesk.bench.rows import Row
    from specdesk.bench.runner import Effort, measure
    from specdesk.bench.tasks import chosen, own_prompts, read_prompts
    from specdesk.cli.bench_output import check_writable, publish
    from specdesk.cli.chosen_models import choose, engine_settings
    from specdesk.cli.interrupts import stopping
    from specdesk.core.sampling import Sampling
    from specdesk.engine.client import Engine, StopFlag

    try:
        sampling = Sampling(temperature)
    except ValueError as error:
        raise UsageError(str(error)) from error
    asked = chosen(own_prompts() if prompts is None else read_prompts(prompts), task or (), one_each=quick)
    limits = (64, 1) if quick else (160, 2)
    effort = Effort(asked, sampling, seed, lookahead, max_tokens or limits[0], rounds or limits[1])
    check_writable(as_json, html, prompts)
    pair = choose(models, engine)
    stop = StopFlag()
    rows: list[Row] = []
    stopped = False
    with stopping(stop.set), Waiting("loading models ...") as waiting:
        settings = engine_settings(pair, engine, lookahead=lookahead, exact=False)
        with Engine(settings, say, stop, waiting.now, verbose=verbose) as loaded:
            findings = Findings(effort, loaded.info, machine_facts(loaded), pair.pair)
            try:
                for row in measure(loaded, effort, lambda at: waiting.now(f"{len(rows)} of {effort.n_answers}: {at}")):
                    rows.append(row)  # noqa: PERF402 — the rows so far are told, and kept whatever ends it
            except Interrupted:
                stopped = True
            finally:
                waiting.end()
                if rows:
                    publish(findings, rows, as_json, html)
    if stopped:
        say(f"stopped after {len(rows)} of {effort.n_answers} answers")
        return EXIT_INTERRUPTED
    return 0
