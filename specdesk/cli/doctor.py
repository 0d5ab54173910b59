"""`specdesk doctor`: what this machine has, what llama.cpp can use of it, and what to do about the rest."""

from __future__ import annotations

from typing import Annotated

import typer

from specdesk.cli.checks import within
from specdesk.cli.console import Waiting
from specdesk.errors import EngineMissingError
from specdesk.settings import CONTEXTS, DEFAULT_N_CTX


def doctor(
    *,
    ctx: Annotated[
        int,
        typer.Option(
            "--ctx", metavar="N", callback=within(*CONTEXTS), help="The context that pairs are to fit in memory with."
        ),
    ] = DEFAULT_N_CTX,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the report.")] = False,
) -> int:
    """Look this machine over: llama.cpp's build and devices, cores, memory, disk and hub, and which pairs fit.

    Says which pair suits it and, where a GPU is here that the build cannot use, which command compiles one that can.
    Works without llama.cpp, and where it crashes while it is loaded. Nothing is changed; of the hub the first bytes of
    a file are asked for.

    Exit codes: 0 models can be run, whatever could be better; 2 usage; 3 there is no llama.cpp that can be used;
    5 storage.
    """
    # Loaded here, so that `specdesk --help` waits for none of it.
    from specdesk.cli.doctor_output import print_json, print_report
    from specdesk.doctor.gather import gather
    from specdesk.hub.manifest import load_manifest

    with Waiting("asking llama.cpp, the devices and the hub ..."):
        facts = gather(load_manifest(), ctx)
    (print_json if as_json else print_report)(facts)
    return 0 if facts.engine.build is not None else EngineMissingError.exit_code
