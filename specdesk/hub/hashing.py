"""The sha256 of files, read in pieces."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import IO, Final

_READ_BYTES: Final = 2**20


def sha256_of(file: IO[bytes], heard: Callable[[int], object]) -> hashlib._Hash:
    """The hash of all there is; afterwards `file` stands at its end.

    `heard` is told how many more bytes were read, and may end it by raising. Raises OSError too.
    """
    digest = hashlib.sha256()
    file.seek(0)
    while chunk := file.read(_READ_BYTES):
        heard(len(chunk))
        digest.update(chunk)
    return digest
