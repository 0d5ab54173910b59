"""What was read of the files of this disk, kept for the next time: vocabularies take longer to read than to look up."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from specdesk import __version__
from specdesk.hub.gguf.header import GgufHeader
from specdesk.whole_file import replace_whole

_WRITER: Final = f"specdesk {__version__}, 4"
"""Whose headers are believed. The number grows when what is read of a file changes and its fields do not."""

State = tuple[int, int]
"""A file's size in bytes and the time of its last change in nanoseconds: with another one it is read again."""


class _Kept(msgspec.Struct, forbid_unknown_fields=True):
    size: int
    mtime_ns: int
    header: GgufHeader


class _Record(msgspec.Struct, forbid_unknown_fields=True):
    """The file."""

    writer: str
    headers: dict[str, _Kept]


class HeaderCache:
    """Headers by path. Processes that keep theirs at the same time may lose some of each other's: those are read again.

    Nothing here fails: a file that is damaged, or was written by another version, is as good as none, and one that
    cannot be written leaves the next process to read for itself.
    """

    def __init__(self, file: Path | None = None) -> None:
        """Without a file they are kept for as long as this lives."""
        self._file = file
        self._headers: dict[str, _Kept] | None = None
        self._new: dict[str, _Kept] = {}

    def get(self, path: Path, state: State) -> GgufHeader | None:
        """The header of a file in that state, if it is known."""
        if self._headers is None:
            self._headers = self._read()
        key = str(path.absolute())
        kept = self._new.get(key) or self._headers.get(key)
        return kept.header if kept is not None and (kept.size, kept.mtime_ns) == state else None

    def put(self, path: Path, state: State, header: GgufHeader) -> None:
        """This is what it says in that state."""
        self._new[str(path.absolute())] = _Kept(*state, header)

    def save(self) -> None:
        """Keep what is new for other processes, and let go of files that are no more."""
        if self._file is None or not self._new:
            return
        # Read again: another process may have kept more meanwhile.
        headers = {**self._read(), **self._new}
        there = {path: kept for path, kept in headers.items() if _can_be_kept(path)}
        with suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            replace_whole(self._file, msgspec.json.encode(_Record(_WRITER, there)) + b"\n")
        self._headers, self._new = headers, {}

    def _read(self) -> dict[str, _Kept]:
        # A pipe in its place would be waited for.
        try:
            if self._file is None or not self._file.is_file():
                return {}
            record = msgspec.json.decode(self._file.read_bytes(), type=_Record)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return {}
        return record.headers if record.writer == _WRITER else {}


def _can_be_kept(path: str) -> bool:
    try:
        path.encode()  # names of other encodings have no place in JSON
        return Path(path).exists()
    except (OSError, ValueError):
        return False
