"""What a source of model files is. It only delivers; whether the bytes are right is decided in fetch.py."""

from __future__ import annotations

from collections.abc import Generator
from typing import Protocol

from specdesk.hub.artifacts import ModelFile

CHUNK_BYTES = 2**20
"""How much sources deliver at a time, at most."""


class SourceError(Exception):
    """This source cannot deliver this file. The message is a whole sentence that names the source."""


class SourceUnreachableError(SourceError):
    """Nothing can be had from this source for now, whatever the file."""


class FileSource(Protocol):
    """One place to have a file from."""

    @property
    def name(self) -> str:
        """As messages call it."""

    def chunks(self, file: ModelFile) -> Generator[bytes]:
        """The bytes of the file in order. Raises: SourceError, and OSError for the local disk only."""
