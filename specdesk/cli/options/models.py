"""Which models a command runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

_PANEL: Final = "Models"


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """Which models to load."""

    pair: Annotated[
        str | None,
        typer.Option(
            "--pair",
            metavar="NAME",
            help="A recommended pair: specdesk download --list. [default: default]",
            rich_help_panel=_PANEL,
        ),
    ] = None
    target: Annotated[
        Path | None,
        typer.Option(
            "--target",
            metavar="FILE|NAME",
            help="A GGUF file as the target, or a model as specdesk models calls it, instead of a pair.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    draft: Annotated[
        Path | None,
        typer.Option(
            "--draft",
            metavar="FILE|NAME",
            help="Likewise the draft. Without one, drafts come from text seen before.",
            rich_help_panel=_PANEL,
        ),
    ] = None
    no_download: Annotated[
        bool,
        typer.Option("--no-download", help="Refuse to fetch a pair that is not on this disk.", rich_help_panel=_PANEL),
    ] = False
