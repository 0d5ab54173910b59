"""Which model of this disk is meant by a name or a path."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path

from specdesk.errors import UsageError
from specdesk.hub.here.added import place_of
from specdesk.hub.here.local_models import LocalModel

_MOST_NAMED = 5


def named(models: Sequence[LocalModel], wanted: str) -> LocalModel:
    """The model with a file at that path, or else the one that is called so, or whose file is, in any case.

    Raises: UsageError where there is none, with the nearest ones, or where there are several, with their paths.
    """
    place = place_of(Path(wanted))
    for model in models:
        if place in (path.absolute() for path in model.files):
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
    return {name.casefold() for name in (model.name, model.file_name, model.path.name, model.path.stem, *called)}
