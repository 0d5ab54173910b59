"""Models that are split into several files, by the names of their parts: big-00001-of-00003.gguf."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PART: Final = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf", re.IGNORECASE)
_SUFFIX: Final = ".gguf"
_MOST: Final = 1000
"""Files of one model; what claims to have more only looks like one."""


@dataclass(frozen=True, slots=True)
class Part:
    """What a name says."""

    stem: str
    number: int
    """From 1 on."""
    count: int

    @property
    def model(self) -> tuple[str, int]:
        """The same for all parts of one model, in one folder."""
        return self.stem, self.count

    def name(self, number: int) -> str:
        """What another part of the model is called."""
        return f"{self.stem}-{number:05}-of-{self.count:05}.gguf"


def split_part(name: str) -> Part | None:
    """What the name says; None where it is not that of a part."""
    match = _PART.fullmatch(name)
    return None if match is None else Part(match["stem"], int(match["number"]), int(match["count"]))


def all_names(name: str) -> tuple[str, ...]:
    """The names of all files of the model that the file belongs to, in order; itself where it is whole.

    `name` may have folders before it.
    """
    part = split_part(name)
    if part is None or not 1 <= part.number <= part.count <= _MOST:
        return (name,)
    suffix = name[-len(_SUFFIX) :]  # which may be written in capitals
    return tuple(part.name(number)[: -len(_SUFFIX)] + suffix for number in range(1, part.count + 1))


def without_later_parts(names: Iterable[str]) -> list[str]:
    """The names of a folder, in their order, with one for each split model: that of the first part that is there."""
    parts = {name: split_part(name) for name in names}
    first: dict[tuple[str, int], int] = {}
    for part in filter(None, parts.values()):
        first[part.model] = min(part.number, first.get(part.model, part.number))
    return [name for name, part in parts.items() if part is None or first[part.model] == part.number]


def parts_beside(path: Path) -> dict[int, Path]:
    """The parts of the same model that lie in the folder, `path` among them, by their numbers; none if it is no part.

    Raises OSError where the folder cannot be listed.
    """
    wanted = split_part(path.name)
    if wanted is None:
        return {}
    found = {}
    for beside in path.parent.iterdir():
        part = split_part(beside.name) if beside.name.startswith(wanted.stem) else None
        if part is not None and part.model == wanted.model:
            found[part.number] = beside
    return dict(sorted(found.items()))
