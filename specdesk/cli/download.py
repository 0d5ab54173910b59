"""`specdesk download`: brings a pair to this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from specdesk.errors import NetworkError, UsageError


def download(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="PAIR|hf:REPO/FILE|URL",
            help="What to fetch: a pair that --list names, a GGUF file as hf:OWNER/REPO/FILE[@REVISION] "
            "(hf:OWNER/REPO lists those there are), or one at an http(s) address. [default: the default pair]",
        ),
    ] = None,
    show_list: Annotated[bool, typer.Option("--list", help="Show the pairs there are, and fetch nothing.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Say whether a newer version of the file is published, and fetch nothing.")
    ] = False,
    update: Annotated[
        bool,
        typer.Option("--update", help="Replace the file by a newer version, if one is published, once that is here."),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Say nothing but where the files are, and errors.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, an object per line: progress, then where the files are.")
    ] = False,
) -> None:
    """Fetch both models of a pair, or any GGUF file, check them, and say where they are.

    What is here already is left alone, and nobody is asked about it. Of a split model all files are fetched.

    Where the files are goes to standard output, progress to standard error. A download that ended early goes on from
    where it was.

    Exit codes: 0 done, 2 usage, 4 network, 5 storage, 130 stopped with Ctrl-C.
    """
    if quiet and as_json:
        raise UsageError("--quiet and --json exclude each other", "--json prints all there is to know")
    if show_list and as_json:
        raise UsageError("--list prints no JSON", "specdesk models --json has the pairs, too")
    if show_list and what is not None:
        raise UsageError("--list lists all pairs, and takes no name", f"leave out {what}")
    if check and update:
        raise UsageError("--check and --update exclude each other", "--update looks itself whether there is one")
    # Loaded here, so that `specdesk --help` waits for none of them.
    from specdesk.hub.manifest import DEFAULT_ALIAS, load_manifest

    if show_list:
        _print_pairs()
        return
    from specdesk.cli.download_output import output
    from specdesk.hub.endpoint import environment_problem
    from specdesk.hub.reference import is_reference, likely_reference

    if what is not None and is_reference(what):
        if problem := environment_problem():
            raise NetworkError(problem, "correct or unset it")
        from specdesk.cli.download_reference import download_reference

        with output(quiet=quiet, as_json=as_json) as out:
            download_reference(what, out, check=check, update=update)
        return
    manifest = load_manifest()
    if what is not None and manifest.find(what) is None and (likely := likely_reference(what)):
        raise UsageError(
            f'no pair is called "{what}"', f"a model of the hub is fetched with: specdesk download {likely}"
        )
    wanted = manifest.pair(what or DEFAULT_ALIAS)
    if check or update:
        raise UsageError(
            f"the files of the recommended pair {wanted.name} are fixed by their sha256",
            "leave out --check and --update",
        )
    from specdesk.hub.download.fetch import fetch_pair

    with output(quiet=quiet, as_json=as_json) as out:
        files = fetch_pair(wanted, out.report)
        out.end({"target": files.target, "draft": files.draft}, f"specdesk run --pair {wanted.name} PROMPT")


def _print_pairs() -> None:
    """A line for each pair: name, download, memory, whether it is here, what it is good for."""
    from rich.filesize import decimal

    from specdesk.cli.tables import print_table, terminal_width
    from specdesk.hub.here.on_disk import has_pair
    from specdesk.hub.manifest import load_manifest
    from specdesk.settings import DEFAULT_N_CTX

    manifest, rows = load_manifest(), []
    for pair in manifest.pairs:
        default = " (default)" if pair.name == manifest.default else ""
        size, memory = decimal(pair.size_bytes), decimal(pair.memory_bytes(DEFAULT_N_CTX))
        state = "here, " if has_pair(pair) else "to fetch,"
        if terminal_width() is None:
            typer.echo(f"{pair.name:20} {size:>8} {state:9} {memory:>8} of memory  {pair.summary}{default}")
        rows.append((pair.name, size, state.strip(" ,"), memory, f"{pair.summary}{default}"))
    if terminal_width() is not None:
        print_table(("name", "size", "", "memory", "good for"), rows, indent="")
