"""Every error a user may meet, with its exit code: what happened, which value, what to do next."""

from __future__ import annotations

from typing import ClassVar


class SpecdeskError(Exception):
    """An expected failure: one clear line, a hint, an exit code. Anything else is a bug and keeps its traceback."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class GenerationError(SpecdeskError):
    """Decoding began and could not go on."""

    exit_code = 1


class EngineDiedError(GenerationError):
    """The process that owns the models is gone; another one can be started."""

    def __init__(self, message: str, hint: str = "", log: tuple[str, ...] = ()) -> None:
        """`log` are the last lines of what native code said, the last one last."""
        super().__init__(message, hint)
        self.log = log


class UsageError(SpecdeskError):
    """An argument, a setting or a prompt that cannot be honoured."""

    exit_code = 2


class ModelError(SpecdeskError):
    """A model file that cannot be loaded, or two that cannot speculate together."""

    exit_code = 3


class EngineMissingError(ModelError):
    """There is no llama.cpp that could load a model: it is absent, broken or too old."""


class NetworkError(SpecdeskError):
    """Something could not be fetched."""

    exit_code = 4


class StorageError(SpecdeskError):
    """The disk refused: no space, no permission, a damaged file of ours."""

    exit_code = 5


EXIT_INTERRUPTED = 130
"""Ctrl-C, as shells count it."""
