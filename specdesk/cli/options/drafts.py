"""How drafts are made and judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from specdesk.cli.checks import auto_or_number, within
from specdesk.cli.options.answers import PANEL
from specdesk.core.names import DEFAULT_RULE, DrafterName, RuleName
from specdesk.settings import LOOKAHEADS

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
        rich_help_panel=PANEL,
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
        rich_help_panel=PANEL,
    ),
]


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
            rich_help_panel=PANEL,
        ),
    ] = DrafterName.CASCADE
    verify: Annotated[
        RuleName | None,
        typer.Option(
            "--verify",
            help="How drafts are judged, all exact: block accepts the most, rejection goes token by token; with "
            "coupled the answer depends on the seed alone, not on the draft or -k, but for numerical ties, which "
            f"--exact rules out. [default: {DEFAULT_RULE}; with --exact coupled]",
            rich_help_panel=PANEL,
        ),
    ] = None
    exact: Annotated[
        bool,
        typer.Option(
            "--exact",
            help="Verify only in passes that round as plain decoding does: with -t 0, and under coupled at any "
            "temperature, the answer is token for token the one of --exact -k 0.",
            rich_help_panel=PANEL,
        ),
    ] = False
