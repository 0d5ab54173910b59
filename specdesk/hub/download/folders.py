"""The folders that downloads are put into: made when they are needed, gone again where nothing came."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence
from pathlib import Path

from specdesk.errors import StorageError


def make_folder(folder: Path) -> None:
    """Make it, with those it lies in. Raises StorageError where that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        hint = "set SPECDESK_HOME to a folder that can be written"
        raise StorageError(f"{folder} cannot be made: {error.strerror}", hint) from error


@contextlib.contextmanager
def leaving_no_empty_folders(folders: Sequence[Path]) -> Generator[None]:
    """Of these folders, and those they lie in, those that are made in the block and empty at its end go again."""
    new = {place for folder in folders for place in (folder, *folder.parents) if not place.exists()}
    try:
        yield
    finally:
        for place in sorted(new, key=lambda place: len(place.parts), reverse=True):
            with contextlib.suppress(OSError):  # not empty, or never made
                place.rmdir()
