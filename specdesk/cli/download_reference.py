"""`specdesk download` of something else than a pair: a file of the hub, all of a repository, an address."""

from __future__ import annotations

import shlex

import typer
from rich.filesize import decimal

from specdesk.cli.console import say
from specdesk.cli.download_output import Output
from specdesk.errors import UsageError
from specdesk.hub.download.fetch_reference import State, compare_all, fetch_reference, list_models, look_up
from specdesk.hub.reference import HubReference, parse_reference
from specdesk.hub.sources.access import endpoint
from specdesk.hub.sources.published import Published
from specdesk.hub.stopping import Never


def download_reference(text: str, out: Output, *, check: bool, update: bool) -> None:
    """Fetch it, or list what there is, or say whether it is the newest. Raises: as what it calls."""
    reference = parse_reference(text, endpoint())
    if isinstance(reference, HubReference) and not reference.path:
        if update:
            raise UsageError(f"{reference} names no file", f"specdesk download {reference} lists those there are")
        (_check_all if check else _list)(reference, out)
    elif check:
        _check(look_up(reference, out.report.notice, Never()), str(reference), out)
    else:
        path = fetch_reference(reference, out.report, update=update)
        shown = shlex.quote(str(path))
        as_draft = f"; or as the draft of a larger one: specdesk run --target LARGER --draft {shown} PROMPT"
        out.end({"model": path}, f"specdesk run --target {shown} PROMPT", as_draft)


def _list(reference: HubReference, out: Output) -> None:
    models = list_models(reference, out.report.notice, Never())
    states = [compare_all(model, Never(), hashing=False) for model in models]
    if out.as_json is not None:
        rows = [
            {
                "reference": model.name,
                "size_bytes": model.size_bytes,
                "n_files": len(model.files),
                "n_here": model.n_here,
                "state": state,
            }
            for model, state in zip(models, states, strict=True)
        ]
        out.as_json.tell("list", models=rows, licence=models[0].licence)
        return
    for model, state in zip(models, states, strict=True):
        here = {State.ABSENT: _part_of_it(model), State.OTHER: state, State.DAMAGED: state}.get(state, "here")
        parts = f"{len(model.files)} files" if len(model.files) > 1 else ""
        typer.echo(f"{decimal(model.size_bytes):>9}  {parts:9}  {here:16}  {model.name}")
    if not out.quiet:
        absent = [model.name for model, state in zip(models, states, strict=True) if state is State.ABSENT]
        fetch = f"; fetch one with: specdesk download {absent[0]}" if absent else ""
        say(f"licence: {models[0].licence or 'not stated'}{fetch}")


def _check_all(reference: HubReference, out: Output) -> None:
    """Each model of the repository of which something is here."""
    models = [model for model in list_models(reference, out.report.notice, Never()) if model.n_here]
    for model in models:
        _check(model, model.name, out)
    if not models and out.as_json is None and not out.quiet:
        say(f"nothing of {reference} is here; specdesk download {reference} lists what there is")


def _check(model: Published, reference: str, out: Output) -> None:
    state, path = compare_all(model, Never()), model.files[0].path
    if out.as_json is not None:
        out.as_json.tell("check", reference=reference, state=state, file=str(path))
        return
    part = _part_of_it(model) if state is State.ABSENT else ""
    typer.echo(f"{part or state}  {path}")
    if out.quiet:
        return
    if part:
        say(f"specdesk download {reference} fetches the others")
    if state is State.DAMAGED:
        say(f"it is not what was downloaded; specdesk download {reference} --update fetches it again")
    if state is State.OTHER:
        say(f"what is here stays as it is; specdesk download {reference} --update replaces it")


def _part_of_it(model: Published) -> str:
    """How many files of a model are here of which one is missing; empty where none is."""
    return f"{model.n_here} of {len(model.files)} here" if model.n_here else ""
