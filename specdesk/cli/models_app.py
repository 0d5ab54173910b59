"""`specdesk models`: what is here, and what can be had."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specdesk.cli.console import say
from specdesk.cli.models_remove import remove
from specdesk.cli.models_verify import verify
from specdesk.errors import ModelError, StorageError, UsageError
from specdesk.hub.here.other_apps import App

if TYPE_CHECKING:
    from specdesk.hub.here.local_models import LocalModel

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def models_app() -> typer.Typer:
    """The commands on models."""
    app = typer.Typer()
    app.callback(invoke_without_command=True)(_root)
    for name, command in (("list", list_), ("add", add), ("remove", remove), ("verify", verify)):
        app.command(name)(command)
    return app


def _root(context: typer.Context, as_json: AsJson = False) -> None:
    """List, check and remove models, and use files of this disk where they lie. Without a command: the list.

    Nothing here asks the network, or needs llama.cpp.

    Exit codes: 0 done, 2 usage, 3 model, 5 storage, 130 stopped, also where a question was not answered with yes.
    """
    if context.invoked_subcommand is None:
        list_(as_json)
    elif as_json:
        raise UsageError("--json belongs behind the command", f"specdesk models {context.invoked_subcommand} --help")


def list_(as_json: AsJson = False) -> None:
    """List the recommended pairs, here or to be had, the model files of this disk, and unfinished downloads.

    Files that cannot be loaded are listed with the reason.
    """
    from specdesk.cli.models_output import print_shelf, print_shelf_json
    from specdesk.hub.here.inventory import Recommended
    from specdesk.hub.here.local_models import library_here
    from specdesk.hub.here.unfinished import unfinished_here
    from specdesk.hub.manifest import load_manifest

    models = list(library_here().models())
    unfinished = unfinished_here()
    if as_json:
        print_shelf_json(Recommended(load_manifest()), models, unfinished)
        return
    print_shelf(Recommended(load_manifest()), models, unfinished)
    try:
        offered = _offered()
    except StorageError:  # which stands in the list already
        return
    for app, places in offered.items():
        say(f"{app.named} keeps files in {' and '.join(map(str, places))}: specdesk models add --from {app} uses them")


def add(
    files: Annotated[list[Path] | None, typer.Argument(metavar="FILE|FOLDER", help="A GGUF file, or a folder.")] = None,
    apps: Annotated[
        list[App] | None,
        typer.Option("--from", help="Add the places where another app keeps its models; may be given several times."),
    ] = None,
) -> None:
    """Use model files where they lie: they are listed and can be chosen, and nothing is copied.

    A folder is looked through each time, with the folders in it. Files that Ollama keeps are called as it calls them.
    """
    from specdesk.hub.here import added
    from specdesk.hub.here.model_files import single
    from specdesk.hub.here.other_apps import places, places_there

    wanted = list(files or ())
    for app in dict.fromkeys(apps or ()):
        there = places_there(app)
        if not there:
            raise UsageError(f"{app.named} keeps nothing in {' or '.join(map(str, places(app)))}", "give its folder")
        wanted += there
    if not wanted:
        known = [f"--from {other}" for other in _offered()]
        raise UsageError(
            "there is nothing to add", f"give a file or a folder{', or ' if known else ''}{' or '.join(known)}"
        )
    checked = [(path, _models_at(path)) for path in wanted]
    for path, models in checked:
        place = added.place_of(path if path.is_dir() else single(path).path)
        holder = added.holder_of(place)
        if holder is not None:
            say(f"nothing to add: {place} is found in {holder} already")
            continue
        new = added.add(place)
        say(f"{'added' if new else 'had been added before'}: {place}, {_counted(models)}")
        for model in models:
            if model.problem and not path.is_dir():
                say(f"{model.file_name} cannot be loaded: {model.problem}")


def _models_at(path: Path) -> list[LocalModel]:
    """The models of a file or a folder. Raises ModelError for a file that is none; UsageError where nothing is."""
    from specdesk.hub.gguf.header_cache import HeaderCache
    from specdesk.hub.gguf.magic import begins_as_gguf
    from specdesk.hub.here.local_models import Library
    from specdesk.paths import headers_file

    if not path.exists():
        raise UsageError(f"there is nothing at {path}")
    if path.is_dir():
        return list(Library(path, headers=HeaderCache(headers_file())).models())
    if not os.access(path, os.R_OK):
        raise ModelError(f"{path} cannot be added: it may not be read")
    if not begins_as_gguf(path):
        raise ModelError(f"{path} cannot be added: it is not a GGUF file", "it does not begin with the letters GGUF")
    return list(Library(path / "none", [path], headers=HeaderCache(headers_file())).models())


def _counted(models: list[LocalModel]) -> str:
    n_broken = sum(bool(model.problem) for model in models)
    words = f"{len(models)} model{'' if len(models) == 1 else 's'}" if models else "no models yet"
    return words + (f", of which {n_broken} cannot be loaded: specdesk models says why" if n_broken else "")


def _offered() -> dict[App, list[Path]]:
    """Places of other apps that are there and were not added."""
    from specdesk.hub.here.added import added_paths, holder_of, place_of
    from specdesk.hub.here.other_apps import places_there

    known = set(added_paths())
    places = {
        app: [place for place in places_there(app) if place_of(place) not in known and holder_of(place) is None]
        for app in App
    }
    return {app: there for app, there in places.items() if there}
