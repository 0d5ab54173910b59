"""`specdesk download`: brings a pair to this machine."""

from __future__ import annotations

from typing import Annotated

import typer


def download(
    pair: Annotated[
        str, typer.Argument(metavar="PAIR", help="The pair to fetch; --list shows their names.")
    ] = "default",
    show_list: Annotated[bool, typer.Option("--list", help="Show the pairs there are, and fetch nothing.")] = False,
) -> None:
    """Fetch both models of a pair, check them, and say where they are. What is here already is left alone."""
    # Loaded here, so that `specdesk --help` waits for none of them.
    from specdesk.hub.manifest import load_manifest

    if show_list:
        _print_pairs()
        return
    from specdesk.cli.progress import shell_reporter
    from specdesk.hub.fetch import fetch_pair

    wanted = load_manifest().pair(pair)
    with shell_reporter() as report:
        files = fetch_pair(wanted, report)
    typer.echo(f"target  {files.target}")
    typer.echo(f"draft   {files.draft}")


def _print_pairs() -> None:
    """A line for each pair: name, download, memory, whether it is here, what it is good for."""
    from rich.filesize import decimal

    from specdesk.hub.manifest import load_manifest
    from specdesk.hub.on_disk import has_pair
    from specdesk.settings import DEFAULT_N_CTX

    manifest = load_manifest()
    for pair in manifest.pairs:
        state = "here" if has_pair(pair) else ""
        default = " (default)" if pair.name == manifest.default else ""
        size, memory = decimal(pair.size_bytes), decimal(pair.memory_bytes(DEFAULT_N_CTX))
        typer.echo(f"{pair.name:20} {size:>8} to fetch, {memory:>8} of memory  {state:4}  {pair.summary}{default}")
