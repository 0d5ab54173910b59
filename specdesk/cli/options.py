"""Options that more than one command takes, each declared once; those that go together stand in a group.

A command takes a group as one parameter: `grouped` spreads it out for Typer.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from specdesk.cli.checks import are_shares, auto_or_number, is_text, within
from specdesk.core.names import DEFAULT_RULE, DrafterName, RuleName
from specdesk.core.sampling import DEFAULT_SAMPLERS, Sampling
from specdesk.memory import CacheType
from specdesk.settings import ANSWER_TOKENS, CONTEXTS, DEFAULT_N_CTX, LOOKAHEADS, SEEDS, LoadMode

_MODELS = "Models"
_SAMPLING = "Sampling"
_ENGINE = "Engine"

_DEFAULTS = Sampling()

Lookahead = Annotated[
    int | None,
    typer.Option(
        "-k",
        "--lookahead",
        metavar="auto|N",
        parser=auto_or_number,
        callback=within(*LOOKAHEADS),
        help="Tokens to draft per target pass: auto drafts as many as pay, by measured costs; N always N, 64 at "
        "most; 0 is plain decoding. [default: auto]",
        rich_help_panel=_SAMPLING,
    ),
]
ProvenLookahead = Annotated[
    int,
    typer.Option(
        "-k",
        "--lookahead",
        metavar="N",
        callback=within(*LOOKAHEADS),
        help="Tokens to draft per target pass, 64 at most, whether they pay or not.",
        rich_help_panel=_SAMPLING,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        callback=within(*SEEDS),
        help="Same seed, settings, models and measured costs: same answer. [default: a new one each time]",
        rich_help_panel=_SAMPLING,
    ),
]
MaxTokens = Annotated[
    int | None,
    typer.Option(
        "-n",
        "--max-tokens",
        metavar="N",
        callback=within(*ANSWER_TOKENS),
        help="Stop after this many tokens. [default: when the model ends]",
        rich_help_panel=_SAMPLING,
    ),
]
Grammar = Annotated[
    Path | None,
    typer.Option(
        "--grammar",
        metavar="FILE",
        help="Keep the answer within a grammar in llama.cpp's notation (GBNF).",
        rich_help_panel=_SAMPLING,
    ),
]
JsonSchema = Annotated[
    Path | None,
    typer.Option(
        "--json-schema",
        metavar="FILE",
        help="Answer with JSON that validates against this schema.",
        rich_help_panel=_SAMPLING,
    ),
]
System = Annotated[str | None, typer.Option("--system", metavar="TEXT", callback=is_text, help="A system prompt.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="Show llama.cpp's own output.", rich_help_panel=_ENGINE)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """Which models to load."""

    pair: Annotated[
        str | None,
        typer.Option(
            "--pair",
            metavar="NAME",
            help="A recommended pair: specdesk download --list. [default: default]",
            rich_help_panel=_MODELS,
        ),
    ] = None
    target: Annotated[
        Path | None,
        typer.Option(
            "--target",
            metavar="FILE|NAME",
            help="A GGUF file as the target, or a model as specdesk models calls it, instead of a pair.",
            rich_help_panel=_MODELS,
        ),
    ] = None
    draft: Annotated[
        Path | None,
        typer.Option(
            "--draft",
            metavar="FILE|NAME",
            help="Likewise the draft. Without one, drafts come from text seen before.",
            rich_help_panel=_MODELS,
        ),
    ] = None
    no_download: Annotated[
        bool,
        typer.Option("--no-download", help="Refuse to fetch a pair that is not on this disk.", rich_help_panel=_MODELS),
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingOptions:
    """What an answer is sampled from."""

    temperature: Annotated[
        float,
        typer.Option(
            "-t",
            "--temperature",
            metavar="T",
            help="0 is greedy: always the likeliest token.",
            rich_help_panel=_SAMPLING,
        ),
    ] = _DEFAULTS.temperature
    seed: Seed = None
    top_k: Annotated[
        int,
        typer.Option(
            "--top-k",
            metavar="K",
            help="Sample from the K likeliest tokens; 0 turns it off.",
            rich_help_panel=_SAMPLING,
        ),
    ] = _DEFAULTS.top_k
    top_p: Annotated[
        float,
        typer.Option(
            "--top-p",
            metavar="P",
            help="Sample from the fewest tokens that reach this probability; 1 turns it off.",
            rich_help_panel=_SAMPLING,
        ),
    ] = _DEFAULTS.top_p
    min_p: Annotated[
        float,
        typer.Option(
            "--min-p",
            metavar="P",
            help="Drop tokens less likely than this times the likeliest; 0 turns it off.",
            rich_help_panel=_SAMPLING,
        ),
    ] = _DEFAULTS.min_p
    typical_p: Annotated[
        float,
        typer.Option(
            "--typical-p", metavar="P", help="Locally typical sampling; 1 turns it off.", rich_help_panel=_SAMPLING
        ),
    ] = _DEFAULTS.typical_p
    top_n_sigma: Annotated[
        float,
        typer.Option(
            "--top-n-sigma",
            metavar="X",
            help="Drop logits this many standard deviations below the highest; 0 turns it off.",
            rich_help_panel=_SAMPLING,
        ),
    ] = _DEFAULTS.top_n_sigma
    repeat_penalty: Annotated[
        float,
        typer.Option(
            "--repeat-penalty", metavar="X", help="Against tokens seen lately; 1 is off.", rich_help_panel=_SAMPLING
        ),
    ] = _DEFAULTS.repeat_penalty
    frequency_penalty: Annotated[
        float,
        typer.Option(
            "--frequency-penalty",
            metavar="X",
            help="Per time a token was seen lately; 0 is off.",
            rich_help_panel=_SAMPLING,
        ),
    ] = _DEFAULTS.frequency_penalty
    presence_penalty: Annotated[
        float,
        typer.Option(
            "--presence-penalty", metavar="X", help="Once it was seen lately; 0 is off.", rich_help_panel=_SAMPLING
        ),
    ] = _DEFAULTS.presence_penalty
    repeat_last_n: Annotated[
        int,
        typer.Option(
            "--repeat-last-n",
            metavar="N",
            help="How many tokens back lately goes, prompt included; -1 is all.",
            rich_help_panel=_SAMPLING,
        ),
    ] = _DEFAULTS.repeat_last_n
    samplers: Annotated[
        str,
        typer.Option(
            "--samplers",
            metavar="NAMES",
            help="The samplers to apply, in this order, separated by ; (quote it) or by commas. One left out is off. "
            f"[default: {', '.join(DEFAULT_SAMPLERS)}]",
            show_default=False,  # it is too long a word to be wrapped
            rich_help_panel=_SAMPLING,
        ),
    ] = ";".join(DEFAULT_SAMPLERS)
    logit_bias: Annotated[
        list[str] | None,
        typer.Option(
            "--logit-bias",
            metavar="ID+BIAS",
            help="Add to a token's logit: 15043+1, 15043-1.5, 15043-inf to ban it. May be repeated.",
            rich_help_panel=_SAMPLING,
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Speculation:
    """How drafts are made and judged."""

    lookahead: Lookahead = None
    drafter: Annotated[
        DrafterName,
        typer.Option(
            "--drafter",
            help="Where drafts come from: model is the draft model, suffix what followed the last time prompt or "
            "answer went like this, cascade whichever pays more (with -k N the model, where there is one).",
            rich_help_panel=_SAMPLING,
        ),
    ] = DrafterName.CASCADE
    verify: Annotated[
        RuleName | None,
        typer.Option(
            "--verify",
            help="How drafts are judged, all exact: block accepts the most, rejection goes token by token; with "
            "coupled the answer depends on the seed alone, not on the draft or -k, but for numerical ties, which "
            f"--exact rules out. [default: {DEFAULT_RULE}; with --exact coupled]",
            rich_help_panel=_SAMPLING,
        ),
    ] = None
    exact: Annotated[
        bool,
        typer.Option(
            "--exact",
            help="Verify only in passes that round as plain decoding does: with -t 0, and under coupled at any "
            "temperature, the answer is token for token the one of --exact -k 0.",
            rich_help_panel=_SAMPLING,
        ),
    ] = False


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
            rich_help_panel=_ENGINE,
        ),
    ] = DEFAULT_N_CTX
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads",
            metavar="N",
            callback=within(1, 2**16),
            help="CPU threads. [default: the cores this process may use]",
            rich_help_panel=_ENGINE,
        ),
    ] = None
    gpu_layers: Annotated[
        int | None,
        typer.Option(
            "--gpu-layers",
            metavar="N",
            callback=within(-1, 10_000),
            help="Layers of the target on the GPU; -1 all. [default: as many as fit]",
            rich_help_panel=_ENGINE,
        ),
    ] = None
    draft_gpu_layers: Annotated[
        int | None,
        typer.Option(
            "--draft-gpu-layers",
            metavar="N",
            callback=within(-1, 10_000),
            help="The same for the draft.",
            rich_help_panel=_ENGINE,
        ),
    ] = None
    main_gpu: Annotated[
        int | None,
        typer.Option(
            "--main-gpu",
            metavar="N",
            callback=within(0, 127),
            help="Put all layers that go to a GPU on this one, counted from 0.",
            rich_help_panel=_ENGINE,
        ),
    ] = None
    tensor_split: Annotated[
        str | None,  # Typer takes a tuple for several arguments
        typer.Option(
            "--tensor-split",
            metavar="A,B,...",
            callback=are_shares,
            help="Share layers between GPUs in these proportions. [default: by their free memory]",
            rich_help_panel=_ENGINE,
        ),
    ] = None
    cache_type_k: Annotated[
        CacheType | None,
        typer.Option(
            "--cache-type-k",
            help="How keys are cached: quantized they take less memory, and lose accuracy. [default: f16, or what tune "
            "or --exact choose]",
            rich_help_panel=_ENGINE,
        ),
    ] = None
    cache_type_v: Annotated[
        CacheType | None,
        typer.Option("--cache-type-v", help="The same for values. [default: f16]", rich_help_panel=_ENGINE),
    ] = None
    load_mode: Annotated[
        LoadMode,
        typer.Option(
            "--load-mode",
            help="How weights get into memory: map their file, read it, or lock them against being swapped out; auto "
            "maps unless llama.cpp lays them out anew.",
            rich_help_panel=_ENGINE,
        ),
    ] = LoadMode.AUTO
    chat_template: Annotated[
        Path | None,
        typer.Option(
            "--chat-template",
            metavar="FILE",
            help="A chat template (Jinja) in the place of the model's own.",
            rich_help_panel=_ENGINE,
        ),
    ] = None
