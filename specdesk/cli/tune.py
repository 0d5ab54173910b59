"""`specdesk tune`: the draft format and the settings that are fastest here, found and kept."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Annotated

import typer

from specdesk.cli.console import Waiting, say
from specdesk.cli.grouping import grouped
from specdesk.cli.options.engine import EngineOptions, Verbose
from specdesk.cli.options.models import Models
from specdesk.core.interrupted import Interrupted
from specdesk.errors import EXIT_INTERRUPTED, UsageError


@grouped
def tune(
    *,
    models: Models,
    engine: EngineOptions,
    undo: Annotated[
        bool, typer.Option("--undo", help="Forget what was tuned for this pair and remove the files made for it.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the report.")] = False,
    verbose: Verbose = False,
) -> int:
    """Make this pair as fast as it can be here, for all later runs: try, measure, keep.

    The draft is tried as given, as Q4_0 and as Q8_0 (made from it on this disk), with different numbers of threads, and
    the target with two ways to cache its keys. The criterion is expected tokens per second, by measured costs and by
    how many of the draft's tokens this target would accept. What is fastest is used from then on wherever the same pair
    is opened; an option given on the command line still wins. Let nothing else run meanwhile.

    Exit codes: 0 tried, whether anything was changed or not, 1 generation failed, 2 usage, 3 model, 4 network,
    5 storage, 130 stopped with Ctrl-C: nothing was changed.
    """
    if models.target is not None and models.draft is None:
        raise UsageError("without a draft there is nothing to tune", "name one with --draft")

    # Loading NumPy and llama.cpp takes a moment that --help should not.
    from specdesk.cli.chosen_models import choose, engine_settings
    from specdesk.cli.interrupts import stopping
    from specdesk.cli.tuning import print_report
    from specdesk.engine.client import StopFlag, undo_tuning
    from specdesk.engine.client import tune as tuned

    # To take something back nothing needs to be fetched.
    chosen = choose(replace(models, no_download=True) if undo else models, engine)
    settings = engine_settings(chosen, engine, lookahead=None, exact=False)
    if undo:
        removed = undo_tuning(settings, say)
        if as_json:
            print(json.dumps({"removed": removed}))  # noqa: T201
        else:
            print("\n".join(f"removed: {what}" for what in removed) or "nothing was tuned for this pair")  # noqa: T201
        return 0
    stop = StopFlag()
    try:
        with stopping(stop.set), Waiting("loading models ...") as waiting:
            report = tuned(settings, say, waiting.now, stop, verbose=verbose)
    except Interrupted:
        say("stopped: nothing was changed")
        return EXIT_INTERRUPTED
    if as_json:
        names = {"target": str(chosen.target), "draft": str(chosen.draft), "changed": bool(report.tuned)}
        print(json.dumps({**names, **asdict(report)}, allow_nan=False))  # noqa: T201
    else:
        print_report(report)
    return 0
