"""The engine's process from outside: starts it, carries messages, and says how it ended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import IO, BinaryIO, Final, cast

from specdesk.core.interrupted import Interrupted
from specdesk.engine import wire
from specdesk.engine.stop import StopFlag
from specdesk.errors import EngineDiedError

_BOOT: Final = (
    "import sys; sys.path[:] = sys.argv[3:]; from specdesk.engine.boot import main; "
    "main(int(sys.argv[1]), verbose=sys.argv[2] == 'verbose')"
)
"""Imports are those of this process, whatever the current folder holds."""

_CLOSING_S: Final = 10.0
"""How long the process may take to end by itself, before it is killed."""
_TAIL: Final = 16_384
_HINT: Final = "a smaller --ctx or model needs less memory; --verbose shows all that llama.cpp says"
_SHOWN: Final = 12
"""Lines of its last words."""


class EngineBugError(RuntimeError):
    """A bug of ours in the engine's process; the text is its traceback."""


class EngineProcess:
    """A child process that owns native code. Used from one thread; the stop flag may be set from any."""

    def __init__(self, stop: StopFlag, *, verbose: bool) -> None:
        """Start it. While `stop` is set, everything it is asked is stopped; `verbose` shows llama.cpp's output.

        Raises EngineDiedError if the system refuses.
        """
        self.n_asked = 0
        """Requests so far."""
        self._answering = False
        self._closed = False
        self._words: tuple[str, ...] = ()
        self._lock = threading.Lock()  # a stop must not be written to a descriptor that is closed by now
        self._flag = stop
        self._resources = ExitStack()
        # What native code says last is read here, also when it took the process with it.
        log = None if verbose else tempfile.TemporaryFile()  # noqa: SIM115 — as long as this
        self._log: IO[bytes] | None = None if log is None else self._resources.enter_context(log)
        theirs, self._stops = os.pipe()
        try:
            self._child = subprocess.Popen(
                [sys.executable, "-c", _BOOT, str(theirs), "verbose" if verbose else "quiet", *sys.path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                pass_fds=(theirs,),
                start_new_session=True,  # Ctrl-C in the terminal is for this process, which decides what it means
            )
        except OSError as error:
            os.close(self._stops)
            self._resources.close()
            raise EngineDiedError(f"the engine's process could not be started: {error.strerror}", _HINT) from error
        finally:
            os.close(theirs)
        self._requests = cast(BinaryIO, self._child.stdin)
        self._replies = cast(BinaryIO, self._child.stdout)
        self._resources.enter_context(stop.watched(self._tell_stop))

    @property
    def pid(self) -> int:
        """Its number."""
        return self._child.pid

    def ask(self, request: wire.Request) -> int:
        """Send a request; returns its number.

        An answer that is still under way is stopped first, and what it had to say is dropped.

        Raises: ValueError if it is closed; EngineDiedError if the process is gone.
        """
        if self._closed:
            raise ValueError("the engine is closed")
        self.drop()
        self.n_asked += 1
        self._answering = True
        try:
            if self._flag.is_set():
                wire.send(self._requests, wire.StopNext())
            wire.send(self._requests, request)
        except OSError:
            raise self._death() from None
        return self.n_asked

    def reply(self) -> wire.Reply:
        """The next thing it says.

        Raises: the SpecdeskError that it met; Interrupted if it was stopped; EngineDiedError if the process is gone;
        EngineBugError.
        """
        message = wire.receive_reply(self._replies)
        match message:
            case None:
                raise self._death()
            case wire.Failed():
                self._answering = False
                raise message.error
            case wire.Stopped():
                self._answering = False
                raise Interrupted
            case wire.Crashed():
                self._answering = False
                raise EngineBugError(message.traceback)
            case _:
                self._answering = not isinstance(message, wire.FINAL)
                return message

    def replies(self) -> Iterator[wire.Reply]:
        """All there is to say to the request under way, the last one too. Raises as `reply` does."""
        while self._answering:
            yield self.reply()

    def drop(self) -> None:
        """Stop what is under way and forget it; its error, too. Raises EngineDiedError if the process is gone."""
        if not self._answering:
            return
        self._tell_stop()
        try:
            for _ in self.replies():
                pass
        except EngineDiedError:
            raise
        except Exception:  # noqa: S110 — nobody wants to know any more
            pass

    def close(self) -> None:
        """End it: it stops, frees the models and keeps what it learned. May be called twice."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            os.close(self._stops)
        self._answering = False
        child = self._child
        with contextlib.suppress(OSError):
            self._requests.close()
        last_resort = threading.Timer(_CLOSING_S, child.kill)
        last_resort.start()
        while self._replies.read(_TAIL):  # it may be writing, and could not end before that is read
            pass
        child.wait()
        last_resort.cancel()
        self._words = self._last_words()
        self._replies.close()
        self._resources.close()

    def _tell_stop(self) -> None:
        with self._lock, contextlib.suppress(BrokenPipeError):
            if not self._closed:
                os.write(self._stops, b"%d\n" % self.n_asked)

    def _death(self) -> EngineDiedError:
        """Why it is gone. It is closed then."""
        self.close()
        lines = self._words
        return EngineDiedError(_cause(self._child.returncode), _HINT, lines)

    def _last_words(self) -> tuple[str, ...]:
        if self._log is None:
            return ()
        size = os.fstat(self._log.fileno()).st_size
        tail = os.pread(self._log.fileno(), _TAIL, max(0, size - _TAIL)).decode("utf-8", errors="replace")
        return tuple(line for line in tail.splitlines() if line.strip())[-_SHOWN:]


def _cause(code: int) -> str:
    if code >= 0:
        return f"the engine's process ended with code {code}"
    name = signal.Signals(-code).name
    reason = "; the system may have run out of memory" if name == "SIGKILL" else ""
    return f"the engine's process was ended by {name}{reason}"
