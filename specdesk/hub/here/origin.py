"""Where a file came from and which version of it it is, kept beside it: whether there is a newer one can be told."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from specdesk.whole_file import replace_whole

_CLOCK_S: Final = 1.0
"""By how much a file may be younger than what is remembered of it, which is written last."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What was fetched."""

    source: str
    """As it can be asked for again, without its revision."""
    version: str
    """What the source called it: a sha256 or an ETag; empty where it did not say."""
    revision: str | None
    """As it was asked for."""
    commit: str | None
    """The hub's own name of that revision at the time."""


def keep_origin(path: Path, origin: Origin) -> None:
    """Remember it of the file at `path`. Raises OSError."""
    beside = _beside(path)
    if beside.is_symlink():
        beside.unlink()  # else it would be written through
    replace_whole(beside, msgspec.json.encode(origin) + b"\n")


def origin_of(path: Path) -> Origin | None:
    """What is remembered of the file; None where nothing is, it cannot be read, or the file was changed since."""
    beside = _beside(path)
    try:
        if path.stat().st_mtime > beside.stat().st_mtime + _CLOCK_S:
            return None
        return msgspec.json.decode(beside.read_bytes(), type=Origin)
    except (OSError, msgspec.MsgspecError, RecursionError):
        return None


def forget_origin(path: Path) -> None:
    """Nothing is remembered of it any more. Raises OSError."""
    _beside(path).unlink(missing_ok=True)


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.origin.json")
