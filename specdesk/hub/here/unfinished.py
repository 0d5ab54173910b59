"""What has come of downloads that ended early: parts in the models folder, which the same download goes on with."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from specdesk.errors import UsageError
from specdesk.hub.here.added import place_of
from specdesk.hub.here.parts import part_bytes, part_of, place_of_part
from specdesk.paths import models_dir
from specdesk.split_names import split_part


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A file that has not come whole, or the successor of one that is here."""

    path: Path
    """Where it belongs."""
    here_bytes: int

    @property
    def part(self) -> Path:
        """Where what has come of it lies."""
        return part_of(self.path)


def unfinished_here() -> tuple[Unfinished, ...]:
    """All there are, also what is being downloaded now. Folders that cannot be looked into hold none.

    Raises StorageError where there is no home directory.
    """
    return tuple(_below(models_dir()))


def named_unfinished(unfinished: Sequence[Unfinished], wanted: str) -> tuple[Unfinished, ...]:
    """Those of one model that are meant: by the path of a file or of its part, also as seen from the models folder, or
    by its name in any case.

    Raises UsageError where several are called so, with their paths.
    """
    places = {place_of(Path(wanted)), place_of(models_dir() / wanted)}
    by_path = [one for one in unfinished if places & {one.path.absolute(), one.part.absolute()}]
    by_name = [
        one
        for one in unfinished
        if wanted.casefold() in map(str.casefold, (one.path.name, one.part.name, one.path.stem))
    ]
    meant = by_path or by_name
    others = [one for one in meant if not _of_one_model(one.path, meant[0].path)]
    if others:
        paths = ", ".join(str(one.path) for one in (meant[0], *others))
        raise UsageError(f'several unfinished downloads are called "{wanted}"', f"give a path: {paths}")
    return unfinished_beside(unfinished, meant[0].path) if meant else ()


def unfinished_beside(unfinished: Sequence[Unfinished], path: Path) -> tuple[Unfinished, ...]:
    """Those of the model that the file belongs to."""
    return tuple(one for one in unfinished if _of_one_model(one.path, path.absolute()))


def _of_one_model(one: Path, other: Path) -> bool:
    part, further = split_part(one.name), split_part(other.name)
    if part is None or further is None:
        return one.absolute() == other.absolute()
    return one.absolute().parent == other.absolute().parent and part.model == further.model


def _below(top: Path) -> Iterator[Unfinished]:
    for folder, folders, names in os.walk(top):
        folders.sort()
        for name in sorted(names):
            part = Path(folder, name)
            path = place_of_part(part)
            if path is not None and not part.is_symlink() and part.is_file():
                yield Unfinished(path, part_bytes(path))
