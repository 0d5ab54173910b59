"""A real command on a pseudo-terminal, and the screen that it draws there."""

from __future__ import annotations

import os
import termios
import time
from collections.abc import Callable, Iterator, Sequence

import pexpect
import psutil
import pyte
import pytest
from pyte.screens import Char

from tests.cli.shell import COMMAND, TIMEOUT_S


class Terminal:
    """Types into a command and reads its screen."""

    def __init__(self, args: Sequence[object], rows: int = 35, columns: int = 120, **env: str) -> None:
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.Stream(self._screen)
        self.child: pexpect.spawn[str] = pexpect.spawn(
            COMMAND[0],
            [*COMMAND[1:], *map(str, args)],
            env=os.environ | {"TERM": "xterm-256color"} | env,
            dimensions=(rows, columns),
            timeout=TIMEOUT_S,
            encoding="utf-8",
            codec_errors="replace",
        )
        self.modes_left = (False, False, False)
        """`modes` as the command left them, once it has ended."""
        self.last = ""
        """The latest of what it wrote, as it came."""

    @property
    def text(self) -> str:
        """What stands on the screen, as far as it was read."""
        return "\n".join(self._screen.display)

    @property
    def cells(self) -> Iterator[Char]:
        """What stands there, with its colours by name or number; "default" is the terminal's own."""
        for row in range(self._screen.lines):
            yield from (self._screen.buffer[row][column] for column in range(self._screen.columns))

    def type(self, keys: str) -> None:
        """Press keys."""
        self.child.send(keys)

    def see(self, wanted: str | Callable[[str], bool]) -> str:
        """The screen, as soon as it shows what is wanted; the test fails if it never does."""
        deadline = time.monotonic() + TIMEOUT_S
        while not (wanted(self.text) if callable(wanted) else wanted in self.text):
            if time.monotonic() > deadline or not self._read():
                pytest.fail(f"waited in vain for {wanted}; the screen:\n{self.text}")
        return self.text

    def ended(self) -> int | None:
        """The exit code, once the command has ended."""
        while self._read():
            pass
        self.modes_left = self.modes()
        self.child.close()
        code: int | None = self.child.exitstatus
        return code

    def modes(self) -> tuple[bool, bool, bool]:
        """Whether what is typed is shown, lines are waited for, and keys like Ctrl+C signal."""
        local = termios.tcgetattr(self.child.fileno())[3]
        return bool(local & termios.ECHO), bool(local & termios.ICANON), bool(local & termios.ISIG)

    def engine(self) -> psutil.Process:
        """The process that owns the models."""
        assert self.child.pid is not None
        (engine,) = psutil.Process(self.child.pid).children()
        return engine

    def close(self) -> None:
        """End it, whatever it does."""
        self.child.close(force=True)

    def _take(self, written: str) -> None:
        self._stream.feed(written)
        self.last = (self.last + written)[-65_536:]

    def _read(self) -> bool:
        """Whether there may be more to read."""
        try:
            self._take(self.child.read_nonblocking(65_536, timeout=0.2))
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        return True


Start = Callable[..., Terminal]
"""Starts a chat with these options and these variables of the environment."""
