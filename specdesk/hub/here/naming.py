"""Which model of this disk is meant by a name or a path."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from pathlib import Path

from specdesk.errors import ModelError, UsageError
from specdesk.hub.here.added import place_of
from specdesk.hub.here.local_models import LocalModel, library_here
from specdesk.hub.reference import is_reference, parse_reference
from specdesk.paths import models_dir
from specdesk.split_names import split_part

_MOST_NAMED = 5
_USUAL_TAG = ":latest"
"""What Ollama means where a name has no tag."""


def file_meant(wanted: Path) -> Path:
    """The file at that path; where there is none, the one to load of the model of this disk that is called so.

    Raises: ModelError where nothing is meant by it, or several models are; StorageError where the disk does not say.
    """
    text = str(wanted)
    if wanted.exists():
        return wanted
    place = place_of_reference(text)
    if place is not None:
        if not place.exists():
            raise ModelError(f"{text} is not on this disk", f"specdesk download {text}")
        return place
    if split_part(wanted.name) is not None:  # of a part that is missing others may be here
        return wanted
    try:
        return named(list(library_here().models()), text).path
    except UsageError as error:
        raise ModelError(f"no file lies at {text}: {error.message}", error.hint) from error


def place_of_reference(text: str) -> Path | None:
    """Where the file to load of what a download reference names belongs, here or not; None for what is none.

    Raises UsageError for one that names no file.
    """
    # A path has one slash where an address has two.
    text = re.sub(r"^(https?:/)(?=[^/])", r"\1/", text, flags=re.IGNORECASE)
    if not is_reference(text):
        return None
    reference = parse_reference(text, "")
    if not reference.path:
        raise UsageError(f"{reference} names no file", f"specdesk download {reference} lists those there are")
    return reference.places()[0]


def named(models: Sequence[LocalModel], wanted: str) -> LocalModel:
    """The model with a file at that path, also as seen from the models folder or the folder that was added, or else the
    one that is called so, or whose file is, in any case; of Ollama's also without `:latest`.

    Raises: UsageError where there is none, with the nearest ones, or where there are several, with their paths.
    """
    places = {place_of(Path(wanted)), place_of(models_dir() / wanted)}
    for model in models:
        if not places.isdisjoint(path.absolute() for path in model.files):
            return model
    below = [model for model in models if _lies_at(model, wanted)]
    meant = below or [model for model in models if wanted.casefold() in _names(model)]
    if len(meant) == 1:
        return meant[0]
    if meant:
        paths = ", ".join(str(model.path) for model in meant[:_MOST_NAMED])
        raise UsageError(f'several models are called "{wanted}"', f"give a path: {paths}")
    near = difflib.get_close_matches(wanted, [model.file_name for model in models], n=_MOST_NAMED, cutoff=0.4)
    hint = f"the nearest: {', '.join(near)}" if near else "specdesk models lists them all"
    raise UsageError(f'there is no model "{wanted}" on this disk', hint)


def _lies_at(model: LocalModel, wanted: str) -> bool:
    """Whether it has a file there, as seen from the folder that it was added with."""
    return model.added is not None and place_of(model.added / wanted) in [path.absolute() for path in model.files]


def _names(model: LocalModel) -> set[str]:
    called = model.called.split(", ") if model.called else []
    called += [name.removesuffix(_USUAL_TAG) for name in called]
    files = [name for path in model.files for name in (path.name, path.stem)]
    return {name.casefold() for name in (model.name, model.file_name, *files, *called)}
