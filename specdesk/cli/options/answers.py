"""How answers are sampled: options of every command that writes one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from specdesk.cli.checks import is_text, within
from specdesk.core.sampling import DEFAULT_SAMPLERS, Sampling
from specdesk.settings import ANSWER_TOKENS, SEEDS

PANEL: Final = "Sampling"
"""What --help calls these, and the options on drafts."""
_DEFAULTS: Final = Sampling()

Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        callback=within(*SEEDS),
        help="Same seed, settings, models and measured costs: same answer. [default: a new one each time]",
        rich_help_panel=PANEL,
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
        rich_help_panel=PANEL,
    ),
]
Grammar = Annotated[
    Path | None,
    typer.Option(
        "--grammar",
        metavar="FILE",
        help="Keep the answer within a grammar in llama.cpp's notation (GBNF).",
        rich_help_panel=PANEL,
    ),
]
JsonSchema = Annotated[
    Path | None,
    typer.Option(
        "--json-schema",
        metavar="FILE",
        help="Answer with JSON that validates against this schema.",
        rich_help_panel=PANEL,
    ),
]
System = Annotated[str | None, typer.Option("--system", metavar="TEXT", callback=is_text, help="A system prompt.")]


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
            rich_help_panel=PANEL,
        ),
    ] = _DEFAULTS.temperature
    seed: Seed = None
    top_k: Annotated[
        int,
        typer.Option(
            "--top-k",
            metavar="K",
            help="Sample from the K likeliest tokens; 0 turns it off.",
            rich_help_panel=PANEL,
        ),
    ] = _DEFAULTS.top_k
    top_p: Annotated[
        float,
        typer.Option(
            "--top-p",
            metavar="P",
            help="Sample from the fewest tokens that reach this probability; 1 turns it off.",
            rich_help_panel=PANEL,
        ),
    ] = _DEFAULTS.top_p
    min_p: Annotated[
        float,
        typer.Option(
            "--min-p",
            metavar="P",
            help="Drop tokens less likely than this times the likeliest; 0 turns it off.",
            rich_help_panel=PANEL,
        ),
    ] = _DEFAULTS.min_p
    typical_p: Annotated[
        float,
        typer.Option(
            "--typical-p", metavar="P", help="Locally typical sampling; 1 turns it off.", rich_help_panel=PANEL
        ),
    ] = _DEFAULTS.typical_p
    top_n_sigma: Annotated[
        float,
        typer.Option(
            "--top-n-sigma",
            metavar="X",
            help="Drop logits this many standard deviations below the highest; 0 turns it off.",
            rich_help_panel=PANEL,
        ),
    ] = _DEFAULTS.top_n_sigma
    repeat_penalty: Annotated[
        float,
        typer.Option(
            "--repeat-penalty", metavar="X", help="Against tokens seen lately; 1 is off.", rich_help_panel=PANEL
        ),
    ] = _DEFAULTS.repeat_penalty
    frequency_penalty: Annotated[
        float,
        typer.Option(
            "--frequency-penalty",
            metavar="X",
            help="Per time a token was seen lately; 0 is off.",
            rich_help_panel=PANEL,
        ),
    ] = _DEFAULTS.frequency_penalty
    presence_penalty: Annotated[
        float,
        typer.Option(
            "--presence-penalty", metavar="X", help="Once it was seen lately; 0 is off.", rich_help_panel=PANEL
        ),
    ] = _DEFAULTS.presence_penalty
    repeat_last_n: Annotated[
        int,
        typer.Option(
            "--repeat-last-n",
            metavar="N",
            help="How many tokens back lately goes, prompt included; -1 is all.",
            rich_help_panel=PANEL,
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
            rich_help_panel=PANEL,
        ),
    ] = ";".join(DEFAULT_SAMPLERS)
    logit_bias: Annotated[
        list[str] | None,
        typer.Option(
            "--logit-bias",
            metavar="ID+BIAS",
            help="Add to a token's logit: 15043+1, 15043-1.5, 15043-inf to ban it. May be repeated.",
            rich_help_panel=PANEL,
        ),
    ] = None
