"""The programs that were started, and that end with us."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import IO, Self

from specdesk.core.interrupted import Interrupted


class Children:
    """Programs that are killed when the block ends, or at `end` from any thread. They have nothing to lose by it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._started: list[tuple[subprocess.Popen[bytes], bool]] = []
        self._ended = threading.Event()

    def start(
        self, command: Sequence[str], output: IO[bytes], *, with_its_own: bool = False
    ) -> subprocess.Popen[bytes]:
        """Start a program whose output goes to a file. `with_its_own`: what it starts itself is killed with it.

        Raises: OSError if it cannot be started; Interrupted after `end`.
        """
        with self._lock:
            if self._ended.is_set():
                raise Interrupted
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=_environment(),
                start_new_session=with_its_own,
            )
            self._started.append((process, with_its_own))
        return process

    def end(self) -> None:
        """Kill all there are, wait for them, and start no more. May be called twice."""
        with self._lock:
            self._ended.set()
            for process, with_its_own in self._started:
                if process.poll() is None:
                    with suppress(ProcessLookupError):
                        if with_its_own:
                            os.killpg(process.pid, signal.SIGKILL)
                        else:
                            process.kill()
                    process.wait()

    def check(self, within_s: float = 0.0) -> None:
        """Raise Interrupted if `end` was called, or is called within so many seconds."""
        if self._ended.wait(within_s):
            raise Interrupted

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.end()


def _environment() -> dict[str, str]:
    """Ours, less what would be options of llama-server.

    How OpenMP waits, which specdesk sets for itself, is handed on: beside other busy programs it decides more of the
    speed than any speculation, and is not what is compared.
    """
    return {name: value for name, value in os.environ.items() if not name.startswith("LLAMA_")}
