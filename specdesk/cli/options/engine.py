"""How the models run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from specdesk.cli.checks import are_shares, within
from specdesk.memory import CacheType
from specdesk.settings import CONTEXTS, DEFAULT_N_CTX, LoadMode, NativeLibrary

_PANEL: Final = "Engine"

Verbose = Annotated[bool, typer.Option("--verbose", help="Show llama.cpp's own output.", rich_help_panel=_PANEL)]


class EngineChoice(StrEnum):
    """What --engine takes."""

    AUTO = "auto"
    LLAMA = NativeLibrary.LLAMA.value
    IK = NativeLibrary.IK.value


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """How the models run."""

    ctx: Annotated[
        int,
        typer.Option(
            "--ctx",
            metavar="N",
            callback=within(*CONTEXTS),
            help="Tokens of context, prompt and answer together.",
            rich_help_panel=_PANEL,
        ),
    ] = DEFAULT_N_CTX
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads",
            metavar="N",
            callback=within(1, 2**16),
            help="CPU threads. [default: the cores this process may use]",
            rich_help_panel=_PANEL,
        ),
    ] = None
    gpu_layers: Annotated[
        int | None,
        typer.Option(
            "--gpu-layers",
            metavar="N",
            callback=within(-1, 10_000),
            help="Layers of the target on the GPU; -1 all. [default: as many as fit]",
            rich_help_panel=_PANEL,
        ),
    ] = None
    draft_gpu_layers: Annotated[
        int | None,
        typer.Option(
            "--draft-gpu-layers",
            metavar="N",
            callback=within(-1, 10_000),
            help="The same for the draft.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    main_gpu: Annotated[
        int | None,
        typer.Option(
            "--main-gpu",
            metavar="N",
            callback=within(0, 127),
            help="Put all layers that go to a GPU on this one, counted from 0.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    tensor_split: Annotated[
        str | None,  # Typer takes a tuple for several arguments
        typer.Option(
            "--tensor-split",
            metavar="A,B,...",
            callback=are_shares,
            help="Share layers between GPUs in these proportions. [default: by their free memory]",
            rich_help_panel=_PANEL,
        ),
    ] = None
    cache_type_k: Annotated[
        CacheType | None,
        typer.Option(
            "--cache-type-k",
            help="How keys are cached: quantized they take less memory, and lose accuracy. [default: f16, or what tune "
            "or --exact choose]",
            rich_help_panel=_PANEL,
        ),
    ] = None
    cache_type_v: Annotated[
        CacheType | None,
        typer.Option("--cache-type-v", help="The same for values. [default: f16]", rich_help_panel=_PANEL),
    ] = None
    engine: Annotated[
        EngineChoice,
        typer.Option(
            "--engine",
            help="What computes: llama.cpp, or ik_llama.cpp, a fork whose passes over several tokens cost less on many "
            "processors (pip install 'specdesk[ik]'); auto measures both once, and takes the faster.",
            rich_help_panel=_PANEL,
        ),
    ] = EngineChoice.LLAMA
    load_mode: Annotated[
        LoadMode,
        typer.Option(
            "--load-mode",
            help="How weights get into memory: map their file, read it, or lock them against being swapped out; auto "
            "maps unless llama.cpp lays them out anew.",
            rich_help_panel=_PANEL,
        ),
    ] = LoadMode.AUTO
    chat_template: Annotated[
        Path | None,
        typer.Option(
            "--chat-template",
            metavar="FILE",
            help="A chat template (Jinja) in the place of the model's own.",
            rich_help_panel=_PANEL,
        ),
    ] = None
