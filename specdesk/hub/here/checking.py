"""Reads files of this disk again, and says whether they are what they should be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from specdesk.hub.hashing import sha256_of
from specdesk.hub.here.known_hashes import Expected


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
        if expected.sha256 is None:
            return Checked(path, Verdict.UNKNOWN, expected)
        with path.open("rb") as file:
            found = sha256_of(file, advance).hexdigest()
    except OSError as error:
        return Checked(path, Verdict.DAMAGED, expected, f"it cannot be read: {error.strerror}")
    if found != expected.sha256:
        reason = f"its sha256 is {found}, not {expected.sha256}"
        return Checked(path, Verdict.DAMAGED, expected, reason)
    return Checked(path, Verdict.OK, expected)
