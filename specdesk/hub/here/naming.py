"""Which model of this disk is meant by a name or a path."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path

from specdesk.errors import ModelError, UsageError
from specdesk.hub.here.added import place_of
from specdesk.hub.here.local_models import LocalModel, library_here
from specdesk.hub.reference import is_reference, parse_reference
from specdesk.paths import models_dir
from specdesk.split_names import split_part

_MOST_NAMED = 5


def file_meant(wanted: Path) -> Path:
    """The file at that path; where there is none, the one to load of the model of this disk that is called so.

    Raises: ModelError where nothing is meant by it, or several models are; StorageError where the disk does not say.
    """
    text = str(wanted)
    if wanted.exists() or split_part(wanted.name) is not None:  # of a part that is missing others may be here
        return wanted
    if is_reference(text):
        reference = parse_reference(text, "")
        if not (place := reference.places()[0]).exists():
            raise ModelError(f"{text} is not on this disk", f"specdesk download {text}")
        return place
    try:
        return named(list(library_here().models()), text).path
    except UsageError as error:
        raise ModelError(f"no file lies at {text}: {error.message}", error.hint) from error


def named(models: Sequence[LocalModel], wanted: str) -> LocalModel:
    """The model with a file at that path, also as seen from the models folder, or else the one that is called so, or
    whose file is, in any case.

    Raises: UsageError where there is none, with the nearest ones, or where there are several, with their paths.
    """
    places = {place_of(Path(wanted)), place_of(models_dir() / wanted)}
    for model in models:
        if not places.isdisjoint(path.absolute() for path in model.files):
            return model
    meant = [model for model in models if wanted.casefold() in _names(model)]
    if len(meant) == 1:
        return meant[0]
    if meant:
        paths = ", ".join(str(model.path) for model in meant[:_MOST_NAMED])
        raise UsageError(f'several models are called "{wanted}"', f"give a path: {paths}")
    near = difflib.get_close_matches(wanted, [model.file_name for model in models], n=_MOST_NAMED, cutoff=0.4)
    hint = f"the nearest: {', '.join(near)}" if near else "specdesk models lists them all"
    raise UsageError(f'there is no model "{wanted}" on this disk', hint)


def _names(model: LocalModel) -> set[str]:
    called = model.called.split(", ") if model.called else []
    files = [name for path in model.files for name in (path.name, path.stem)]
    return {name.casefold() for name in (model.name, model.file_name, *files, *called)}
