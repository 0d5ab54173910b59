"""Reads files of this disk again, and says whether they are what they should be."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from specdesk.hub.known_hashes import Expected

_READ_BYTES: Final = 2**20


class Verdict(StrEnum):
    """What came of a check."""

    OK = "ok"
    DAMAGED = "damaged"
    UNKNOWN = "not known"
    """Nobody has said what its sha256 should be."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A file that was looked at."""

    path: Path
    verdict: Verdict
    expected: Expected | None
    reason: str = ""
    """Why it is damaged."""


def check_file(path: Path, expected: Expected | None, advance: Callable[[int], None]) -> Checked:
    """Read the whole file and compare; `advance` is told how many more bytes were read. Nothing is changed."""
    if expected is None:
        return Checked(path, Verdict.UNKNOWN, None)
    try:
        size_bytes = path.stat().st_size
        if expected.size_bytes not in (None, size_bytes):
            reason = f"it has {size_bytes:,} bytes, not {expected.size_bytes:,}"
            return Checked(path, Verdict.DAMAGED, expected, reason)
        digest = hashlib.sha256()
        for chunk in _chunks(path):
            digest.update(chunk)
            advance(len(chunk))
    except OSError as error:
        return Checked(path, Verdict.DAMAGED, expected, f"it cannot be read: {error.strerror}")
    if digest.hexdigest() != expected.sha256:
        reason = f"its sha256 is {digest.hexdigest()}, not {expected.sha256}"
        return Checked(path, Verdict.DAMAGED, expected, reason)
    return Checked(path, Verdict.OK, expected)


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_READ_BYTES):
            yield chunk
