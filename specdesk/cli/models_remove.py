"""`specdesk models remove`: deletes what was downloaded, forgets what was added."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specdesk.cli.checks import is_text
from specdesk.cli.console import say
from specdesk.core.interrupted import Interrupted
from specdesk.errors import UsageError

if TYPE_CHECKING:
    from specdesk.hub.here.removal import Removal


def remove(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE|FOLDER", callback=is_text, help="A pair, a model by any of its names, or what was added."
        ),
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Delete without asking.")] = False,
    shared: Annotated[
        bool, typer.Option("--shared", help="Of a pair, delete also what another pair that is here needs.")
    ] = False,
) -> None:
    """Delete a pair or a model that was downloaded, what has come of one, or forget a file or folder that was added.

    What was added is never deleted.
    """
    from specdesk.hub.here import added

    if added.forget(Path(name)):
        place = added.place_of(Path(name))
        stays = "; its files stay where they are" if place.is_dir() else "; it stays where it is"
        say(f"forgotten: {place}{stays if os.path.lexists(place) else ', where nothing is now'}")
        return
    from rich.filesize import decimal

    from specdesk.hub.here import removal

    wanted = _removal(name, shared=shared)
    for path, pair in wanted.kept:
        say(f"{path} stays: the pair {pair} needs it too; --shared deletes it all the same")
    if not wanted.files:
        return
    size = decimal(wanted.size_bytes)
    if not yes:
        _ask(wanted, size)
    removal.remove(wanted)
    for path in wanted.files:
        say(f"deleted: {path}")
    say(f"{size} freed")


def _removal(name: str, *, shared: bool) -> Removal:
    from specdesk.hub.here import removal
    from specdesk.hub.here.local_models import library_here
    from specdesk.hub.here.naming import named, place_of_reference
    from specdesk.hub.here.unfinished import named_unfinished, unfinished_here
    from specdesk.hub.manifest import load_manifest

    manifest = load_manifest()
    if (pair := manifest.find(name)) is not None:
        found = removal.of_pair(pair, manifest, shared=shared)
        if not found.files and not found.kept:
            raise UsageError(f"nothing of the pair {pair.name} is on this disk")
        return found
    if shared:
        raise UsageError(f'"{name}" is no pair', "--shared goes with the name of one")
    unfinished, place = unfinished_here(), place_of_reference(name)
    wanted = name if place is None else str(place)
    try:
        model = named(list(library_here().models()), wanted)
    except UsageError:
        if meant := named_unfinished(unfinished, wanted):
            return removal.of_unfinished(meant)
        if place is not None:
            raise UsageError(f"{name} is not on this disk") from None
        raise
    return removal.of_model(model, unfinished)


def _ask(wanted: Removal, size: str) -> None:
    """Raises Interrupted where the user does not agree, and UsageError where nobody can be asked."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("nothing was deleted: there is no terminal to ask on", "--yes deletes without asking")
    for path in wanted.files:
        say(f"to be deleted: {path}")
    try:
        agreed = typer.confirm(f"Delete {'it' if len(wanted.files) == 1 else 'them'}, {size}?", err=True)
    except typer.Abort:
        typer.echo(err=True)  # the question has no end of line yet
        agreed = False
    if not agreed:
        raise Interrupted("nothing was deleted")
