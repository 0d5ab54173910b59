"""What lies beside a file that is being brought: the part that has come, which version it is of, and the lock."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Final

_SUFFIX: Final = ".part"


def part_of(path: Path) -> Path:
    """Where what has come of a file lies until it is complete."""
    return path.with_name(f"{path.name}{_SUFFIX}")


def place_of_part(part: Path) -> Path | None:
    """Which file it is the part of, by its name; None where it is not that of a part of a model."""
    name = part.name.removesuffix(_SUFFIX)
    return part.with_name(name) if name != part.name and name.lower().endswith(".gguf") else None


def pieces_of(path: Path) -> tuple[Path, Path]:
    """Where a source of pieces keeps what it knows of those that came, and the folder in which it has the next one."""
    return path.with_name(f"{path.name}.pieces.json"), path.with_name(f"{path.name}.pieces")


def version_of_part(path: Path) -> Path:
    """Where it is kept which version of a file its part is of, if the file may change."""
    return path.with_name(f"{part_of(path).name}.version")


def lock_of(path: Path) -> Path:
    """What is locked while a file is brought, or deleted."""
    return path.with_name(f".{path.name}.lock")


def part_bytes(path: Path) -> int:
    """How much of a file has come, by its part."""
    try:
        found = part_of(path).lstat()
    except (FileNotFoundError, NotADirectoryError):
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0
