"""Standard output is the answer; everything else is said on standard error, here."""

from __future__ import annotations

import io
import os
import sys
from enum import StrEnum
from typing import Self, TextIO

from rich.console import Console

from specdesk.errors import StorageError
from specdesk.tokenview import visible

_TABLE_WIDTH = 120
"""Columns of a table where standard output is no terminal."""


class ColorWhen(StrEnum):
    """The values of --color."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


def say(text: str) -> None:
    """One line for the user."""
    print(f"specdesk: {visible(text)}".replace("\n", " "), file=sys.stderr, flush=True)  # noqa: T201


def print_text(text: str) -> None:
    """Standard output gets it as it is; on a terminal, control characters are shown."""
    sys.stdout.write(visible(text) if sys.stdout.isatty() else text)


def mend_streams() -> None:
    """Make the standard streams usable whatever they were started as.

    A closed one becomes the null device, so that no file of ours takes its number; what an encoding cannot hold is
    written as an escape. Raises StorageError if standard output is closed: an answer would be lost.
    """
    closed = sys.stdout is None
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            while os.open(os.devnull, os.O_RDWR) < number:
                pass
            setattr(sys, name, os.fdopen(number, mode, closefd=False))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    if closed:
        raise StorageError("standard output is closed: there is nowhere to put the answer")


def give_up_stdout() -> int:
    """Standard output cannot be written any more: keep the interpreter from trying at its end. Returns exit code 1."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1


def stderr_console() -> Console:
    """A Rich console on standard error as it is now."""
    return Console(stderr=True, highlight=False)


def report_console() -> Console:
    """A Rich console on standard output for tables: as wide as the terminal, or as tables need where there is none."""
    console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = _TABLE_WIDTH
    return console


class Waiting:
    """A spinner on a standard error that is a terminal, and nothing on another. Ends with the block, or before."""

    def __init__(self, what: str) -> None:
        console = stderr_console()
        self._status = console.status(what) if console.is_terminal else None

    def now(self, what: str) -> None:
        """Say what is waited for now."""
        if self._status is not None:
            self._status.update(what)

    def end(self) -> None:
        """Take it away; may be called again."""
        if self._status is not None:
            self._status.stop()

    def __enter__(self) -> Self:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.end()


def styled_console(stream: TextIO, when: ColorWhen) -> Console | None:
    """A console that styles `stream`, or None where plain text belongs: piped, a dumb terminal, or --color never.

    NO_COLOR takes the colours and leaves underline, bold and strike, which tell the tokens apart too.
    """
    if when is ColorWhen.NEVER:
        return None
    console = Console(
        file=stream,
        force_terminal=True if when is ColorWhen.ALWAYS else None,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=True,
    )
    return console if console.is_terminal and not console.is_dumb_terminal else None
