"""Where model files lie: in the models folder, in folders of other apps, and one by one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from specdesk.hub.gguf.magic import begins_as_gguf
from specdesk.hub.here.ollama import blob_sha256, names_of_blobs
from specdesk.split_names import parts_beside, without_later_parts

_HOLDS_NO_FILES: Final = ".no_exist"
"""The hub cache keeps empty files there, of the names that a repository does not have."""


@dataclass(frozen=True, slots=True)
class Found:
    """A file that may be a model, or a place that could not be looked at."""

    path: Path
    called: str = ""
    """How the app that keeps it calls it, where its own name says nothing."""
    problem: str = ""
    """Why it could not be looked at."""


def at(path: Path) -> Iterator[Found]:
    """The models of a file or a folder that was added."""
    if path.is_dir():
        yield from below(path)
    elif not os.path.lexists(path):
        yield Found(path, problem="it was added, and is not there now")
    else:
        yield single(path)


def single(path: Path) -> Found:
    """The model of a file, which is loaded through the first of its parts that is there."""
    if blob_sha256(path.name) is not None:
        return Found(path, names_of_blobs(path.parent).get(path.name, ""))
    try:
        return Found(next(iter(parts_beside(path).values()), path))
    except OSError:  # which reading it will meet too, and say
        return Found(path)


def below(top: Path) -> Iterator[Found]:
    """Every file of a folder, and of those in it, that may be a model: by its ending, or for Ollama's by its bytes.

    A folder that is not there holds nothing.
    """
    refused: list[OSError] = []
    for folder, folders, names in os.walk(top, onerror=refused.append):
        folders[:] = sorted(name for name in folders if name != _HOLDS_NO_FILES)
        models = sorted(name for name in names if name.lower().endswith(".gguf"))
        yield from (Found(Path(folder, name)) for name in without_later_parts(models))
        yield from _blobs(Path(folder), names)
    for error in refused:
        if not isinstance(error, FileNotFoundError):
            yield Found(Path(str(error.filename)), problem=f"it cannot be looked into: {error.strerror}")


def _blobs(folder: Path, names: list[str]) -> Iterator[Found]:
    blobs = sorted(name for name in names if blob_sha256(name) is not None)
    if blobs:
        called = names_of_blobs(folder)
        yield from (Found(folder / name, called.get(name, "")) for name in blobs if begins_as_gguf(folder / name))
