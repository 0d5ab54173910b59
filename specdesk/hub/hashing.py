"""The sha256 of files, read in pieces, and how one is written."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import IO, Final

_READ_BYTES: Final = 2**20
_SHA256: Final = re.compile(r"[0-9a-f]{64}")


def is_sha256(text: str) -> bool:
    """Whether it is written as one: 64 hexadecimal digits, small ones."""
    return _SHA256.fullmatch(text) is not None


def sha256_of(file: IO[bytes], heard: Callable[[int], object], most: int | None = None) -> hashlib._Hash:
    """The hash of all there is, or of the first `most` bytes; afterwards `file` stands behind what was read.

    `heard` is told how many more bytes were read, and may end it by raising. Raises OSError too.
    """
    digest = hashlib.sha256()
    file.seek(0)
    left = most
    while chunk := file.read(_READ_BYTES if left is None else min(_READ_BYTES, left)):
        heard(len(chunk))
        digest.update(chunk)
        left = None if left is None else left - len(chunk)
    return digest
