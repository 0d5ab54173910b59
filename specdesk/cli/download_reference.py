"""`specdesk download` of something else than a pair: a file of the hub, all of a repository, an address."""

from __future__ import annotations

import shlex

import typer
from rich.filesize import decimal

from specdesk.cli.console import say
from specdesk.cli.download_output import Output
from specdesk.errors import UsageError
from specdesk.hub.download.fetch_reference import State, compare_all, fetch_reference, list_models, look_up
from specdesk.hub.reference import HubReference, Reference, parse_reference
from specdesk.hub.sources.access import endpoint
from specdesk.hub.stopping import Never


def download_reference(text: str, out: Output, *, check: bool, update: bool) -> None:
    """Fetch it, or list what there is, or say whether it is the newest. Raises: as what it calls."""
    reference = parse_reference(text, endpoint())
    if isinstance(reference, HubReference) and not reference.path:
        if check or update:
            raise UsageError(f"{reference} names no file", f"specdesk download {reference} lists those there are")
        _list(reference, out)
    elif check:
        _check(reference, out)
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
            {"reference": model.name, "size_bytes": model.size_bytes, "n_files": len(model.files), "state": state}
            for model, state in zip(models, states, strict=True)
        ]
        out.as_json.tell("list", models=rows, licence=models[0].licence)
        return
    for model, state in zip(models, states, strict=True):
        here = {State.ABSENT: "", State.OTHER: state.value, State.DAMAGED: state.value}.get(state, "here")
        parts = f"{len(model.files)} files" if len(model.files) > 1 else ""
        typer.echo(f"{decimal(model.size_bytes):>9}  {parts:9}  {here:16}  {model.name}")
    if not out.quiet:
        say(f"licence: {models[0].licence or 'not stated'}; fetch one with: specdesk download {models[0].name}")


def _check(reference: Reference, out: Output) -> None:
    model = look_up(reference, out.report.notice, Never())
    state, path = compare_all(model, Never()), model.files[0].path
    if out.as_json is not None:
        out.as_json.tell("check", reference=str(reference), state=state, file=str(path))
        return
    typer.echo(f"{state.value}  {path}")
    if state is State.DAMAGED and not out.quiet:
        say(f"it is not what was downloaded; specdesk download {reference} --update fetches it again")
    if state is State.OTHER and not out.quiet:
        say(f"what is here stays as it is; specdesk download {reference} --update replaces it")
