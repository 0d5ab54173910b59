"""Native work in a process of its own: one that cannot be told to stop can be ended, and its end survived."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, Final

from specdesk.core.interrupted import Interrupted
from specdesk.engine.native_log import native_log
from specdesk.engine.stop import StopFlag

_POLL_S: Final = 0.1


class ChildDiedError(Exception):
    """The process ended and said nothing."""

    def __init__(self, code: int | None) -> None:
        super().__init__(code)
        self.code = code
        """Its exit code; that of a signal is negative."""


def in_child(work: Callable[..., Any], arguments: tuple[object, ...], stop: StopFlag) -> Any:
    """What `work(*arguments)` returns, computed in another process; it is a function of a module.

    Raises: Interrupted while `stop` is set; ChildDiedError if the process does not live to say anything.
    """
    # Not a fork: threads of llama.cpp and of the screen are running.
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(
        target=_run, args=(work, arguments, (native_log.verbose, native_log.kept), theirs), daemon=True
    )
    with ours:
        child.start()
        theirs.close()
        try:
            while child.is_alive() and not ours.poll(_POLL_S):
                if stop.is_set():
                    raise Interrupted
            with contextlib.suppress(EOFError):
                return ours.recv()
            child.join()
            raise ChildDiedError(child.exitcode)
        finally:
            child.kill()
            child.join()
            child.close()


def _run(work: Callable[..., Any], arguments: tuple[object, ...], log: tuple[bool, bool], parent: Connection) -> None:
    # Ctrl-C reaches all processes of a terminal; the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    shown, kept = log
    if shown:
        native_log.show()
    if kept:
        native_log.keep()
    parent.send(work(*arguments))
