"""The letters that every GGUF file begins with."""

from __future__ import annotations

from pathlib import Path
from typing import Final

MAGIC: Final = b"GGUF"


def begins_as_gguf(path: Path) -> bool:
    """Whether a file, of whatever name, begins as GGUF files do; not where it cannot be read."""
    try:
        # Asked first: opening a pipe would wait for its other end.
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False
