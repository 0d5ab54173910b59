"""Where a file came from and which version of it it is, kept beside it: whether there is a newer one can be told, and
whether it is still what was downloaded."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import msgspec

from specdesk.whole_file import replace_whole

_CLOCK_S: Final = 1.0
"""By how much a file may be younger than a record that does not note its time, and is written last."""


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

    @property
    def again(self) -> str:
        """As it can be asked for again, of that revision."""
        return self.source + (f"@{self.revision}" if self.revision else "")


@dataclass(frozen=True, slots=True)
class Note:
    """What is remembered of a file, whatever became of it."""

    origin: Origin
    size_bytes: int | None
    """How long it was then; None where that was not noted."""
    unchanged: bool
    """Whether nobody has written to it since, by its size and time."""


class _Kept(msgspec.Struct):
    """The record."""

    source: str
    version: str
    revision: str | None
    commit: str | None
    size_bytes: int | None = None
    mtime_ns: int | None = None


def keep_origin(path: Path, origin: Origin) -> None:
    """Remember it of the file at `path`, as it is now. Raises OSError."""
    beside = _beside(path)
    if beside.is_symlink():
        beside.unlink()  # else it would be written through
    state = path.stat()
    kept = _Kept(**asdict(origin), size_bytes=state.st_size, mtime_ns=state.st_mtime_ns)
    replace_whole(beside, msgspec.json.encode(kept) + b"\n")


def origin_of(path: Path) -> Origin | None:
    """What is remembered of the file; None where nothing is, it cannot be read, or the file was changed since."""
    note = note_of(path)
    return None if note is None or not note.unchanged else note.origin


def note_of(path: Path) -> Note | None:
    """The same, of a file that was changed since too."""
    beside = _beside(path)
    try:
        state = path.stat()
        kept = msgspec.json.decode(beside.read_bytes(), type=_Kept)
        if kept.mtime_ns is None:
            unchanged = state.st_mtime <= beside.stat().st_mtime + _CLOCK_S
        else:
            unchanged = (state.st_size, state.st_mtime_ns) == (kept.size_bytes, kept.mtime_ns)
    except (OSError, msgspec.MsgspecError, RecursionError):
        return None
    return Note(Origin(kept.source, kept.version, kept.revision, kept.commit), kept.size_bytes, unchanged)


def forget_origin(path: Path) -> None:
    """Nothing is remembered of it any more. Raises OSError."""
    _beside(path).unlink(missing_ok=True)


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.origin.json")
