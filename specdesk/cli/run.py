"""`specdesk run`: one prompt, one answer."""

from __future__ import annotations

import secrets
import sys
from pathlib import Path
from typing import Annotated

import typer

from specdesk.cli import options as opt
from specdesk.cli.console import ColorWhen
from specdesk.errors import UsageError
from specdesk.settings import DEFAULT_N_CTX, EngineSettings


def run(
    prompt: Annotated[str, typer.Argument(metavar="PROMPT", help="What to ask; - reads it from standard input.")],
    pair: opt.Pair = None,
    target: opt.Target = None,
    draft: opt.Draft = None,
    no_download: opt.NoDownload = False,
    system: opt.System = None,
    raw: Annotated[bool, typer.Option("--raw", help="Continue PROMPT as it is, without the chat template.")] = False,
    max_tokens: opt.MaxTokens = None,
    temperature: opt.Temperature = 0.8,
    seed: opt.Seed = None,
    top_k: opt.TopK = 40,
    top_p: opt.TopP = 0.95,
    min_p: opt.MinP = 0.05,
    stop: Annotated[
        list[str] | None,
        typer.Option(
            "--stop", metavar="TEXT", callback=opt.not_empty, help="End the answer before this text. May be repeated."
        ),
    ] = None,
    lookahead: opt.Lookahead = 4,
    ctx: opt.Ctx = DEFAULT_N_CTX,
    threads: opt.Threads = None,
    gpu_layers: opt.GpuLayers = None,
    draft_gpu_layers: opt.DraftGpuLayers = None,
    color: Annotated[
        ColorWhen, typer.Option("--color", help="Tell drafted and target-written tokens apart.")
    ] = ColorWhen.AUTO,
    show_rejected: Annotated[
        bool, typer.Option("--show-rejected", help="Show rejected draft tokens too, struck through.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the text.")] = False,
    trace: Annotated[
        Path | None,
        typer.Option("--trace", metavar="FILE", help="Write one JSON line per target pass to FILE."),
    ] = None,
    verbose: opt.Verbose = False,
) -> int:
    """Generate an answer, and say what speculation brought.

    The answer goes to standard output, all else to standard error. The recommended pair is fetched if it is absent.

    The speedup is measured in the run itself. Steps 1 and 3 and every 16th decode plainly, one token in a pass of its
    own; the median of those steps is what a token costs here without a draft. Reading the prompt is left out on both
    sides, except that the draft reading it counts against speculation. Under 16 tokens there is no figure.

    Exit codes: 0 done, 1 generation failed, 2 usage, 3 model, 4 network, 5 storage, 130 stopped with Ctrl-C.
    """
    # Loading NumPy and llama.cpp takes a moment that --help should not.
    from specdesk.cli.generate import Output, generate
    from specdesk.cli.models import choose
    from specdesk.engine.client import AnswerOptions, Message

    text = sys.stdin.read() if prompt == "-" else prompt
    if not text.strip():
        raise UsageError("the prompt is empty")
    if raw and system is not None:
        raise UsageError("--raw and --system exclude each other", "--raw sends the prompt alone")
    sampling = opt.sampling(temperature, top_k, top_p, min_p)
    chosen = choose(pair, target, draft, no_download=no_download)
    turns = [Message("system", system)] if system is not None else []
    return generate(
        text if raw else [*turns, Message("user", text)],
        chosen,
        # A draft that is never asked would only cost memory.
        EngineSettings(chosen.target, chosen.draft if lookahead else None, ctx, threads, gpu_layers, draft_gpu_layers),
        AnswerOptions(
            sampling, secrets.randbits(32) if seed is None else seed, lookahead, max_tokens, tuple(stop or ())
        ),
        Output(color, show_rejected=show_rejected, as_json=as_json, trace=trace, verbose=verbose),
    )
