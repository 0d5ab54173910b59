"""Which file to load for one that is named: a split model is loaded through its first, and only where all are here."""

from __future__ import annotations

from pathlib import Path

from specdesk.errors import ModelError
from specdesk.hub.gguf.header import read_header
from specdesk.hub.here.local_models import missing_parts
from specdesk.hub.here.model_files import single
from specdesk.hub.here.origin import note_of
from specdesk.split_names import split_part


def whole(path: Path) -> Path:
    """The file to load; `path` itself where it is no part of a split model, or there is nothing of it.

    Raises ModelError for a split model of which files are missing.
    """
    if split_part(path.name) is None:
        return path
    first = single(path).path
    try:
        header = read_header(first)
    except ModelError:
        header = None  # its name decides; what is wrong with it is said when it is loaded
    only_called_so = header is not None and header.n_parts < 2
    if only_called_so or not first.exists():
        return path
    if incomplete := missing_parts(first, header):
        note = note_of(first)
        hint = "put it beside the others" if note is None else f"fetch it with: specdesk download {note.origin.source}"
        raise ModelError(f"{path} cannot be loaded: {incomplete}", hint)
    return first
