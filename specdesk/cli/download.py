"""`specdesk download`: brings a pair to this machine."""

from __future__ import annotations

from typing import Annotated

import typer


def download(
    pair: Annotated[str, typer.Argument(help="The pair to fetch, by its name in the manifest.")] = "default",
) -> None:
    """Fetch both models of a pair, check them, and say where they are. What is here already is left alone."""
    # Loaded here, so that `specdesk --help` waits for none of them.
    from specdesk.cli.progress import shell_reporter
    from specdesk.hub.fetch import fetch_pair
    from specdesk.hub.manifest import load_manifest

    wanted = load_manifest().pair(pair)
    with shell_reporter() as report:
        files = fetch_pair(wanted, report)
    typer.echo(f"target  {files.target}")
    typer.echo(f"draft   {files.draft}")
