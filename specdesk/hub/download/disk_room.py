"""Room on the disk for what is to be fetched."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.filesize import decimal

from specdesk.errors import StorageError
from specdesk.hub.artifacts import ModelFile
from specdesk.hub.here.parts import part_bytes
from specdesk.paths import ROOM_HINT, existing

HEADROOM_BYTES = 2**28
"""Free space asked for beyond the files: a piece of a wheel source, pip's copy of it, some to spare."""


@dataclass(frozen=True, slots=True)
class DiskRoom:
    """What is needed on a disk, and what there is."""

    needed_bytes: int
    free_bytes: int

    @property
    def suffices(self) -> bool:
        """Whether there is enough."""
        return self.free_bytes >= self.needed_bytes


def room_for(missing: Sequence[tuple[Path, ModelFile]], directory: Path) -> DiskRoom:
    """What the files, to be put there, still need, and what is free where `directory` is or will be. Raises OSError."""
    needed = HEADROOM_BYTES + sum(max(0, file.size_bytes - part_bytes(path)) for path, file in missing)
    return DiskRoom(needed, shutil.disk_usage(existing(directory)).free)


def refuse_without_room(room: DiskRoom, directory: Path) -> None:
    """Raises StorageError where the disk of `directory` has too little room, with both numbers."""
    if not room.suffices:
        raise StorageError(
            f"{decimal(room.needed_bytes)} needed in {directory}, {decimal(room.free_bytes)} free", ROOM_HINT
        )
