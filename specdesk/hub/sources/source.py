"""What a source of model files is. It only delivers; whether the bytes are right is decided in landing.py."""

from __future__ import annotations

from collections.abc import Generator
from typing import Protocol

from specdesk.hub.artifacts import ModelFile


class SourceError(Exception):
    """This source cannot deliver this file. The message is a whole sentence that names the source."""


class SourceUnreachableError(SourceError):
    """Nothing can be had from this source for now, whatever the file."""


class BrokenOffError(SourceError):
    """The connection ended or fell silent; another one may go on."""


class BusyError(SourceError):
    """The source refuses for now; `wait_s` is how long it asked to be left alone, if it did."""

    def __init__(self, message: str, wait_s: float | None = None) -> None:
        super().__init__(message)
        self.wait_s = wait_s


class ResumeError(SourceError):
    """The source cannot go on from the byte it was asked for, but from byte `at`, which is before it."""

    def __init__(self, message: str, at: int = 0) -> None:
        super().__init__(message)
        self.at = at


class FileSource(Protocol):
    """One place to have a file from."""

    @property
    def name(self) -> str:
        """As messages call it."""

    def chunks(self, file: ModelFile, start: int) -> Generator[bytes]:
        """The bytes of the file from byte `start` on, in order.

        Raises: SourceError, ResumeError before the first byte, OSError for the local disk only, and Interrupted soon
        after it was told to stop.
        """
