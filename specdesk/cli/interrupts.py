"""Ctrl-C and SIGTERM, also while native code holds the main thread."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from specdesk.errors import EXIT_INTERRUPTED


@contextmanager
def stopping(stop: Callable[[], None]) -> Iterator[None]:
    """Within: the first SIGINT or SIGTERM calls `stop`, and another one ends the process at once with code 130.

    Python runs signal handlers between its own instructions, which a native pass keeps waiting, and an exception raised
    inside a callback from native code is lost. So the handlers do nothing, and a thread reads the signals from a socket
    that the interpreter writes to as they arrive. Main thread only.
    """
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)

    def listen() -> None:
        seen = 0
        while number := ours.recv(1):
            if number[0] not in (signal.SIGINT, signal.SIGTERM):
                continue
            seen += 1
            if seen > 1:
                os._exit(EXIT_INTERRUPTED)
            stop()

    def ignore(_signal: int, _frame: object) -> None:
        """The listener acts."""

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, ignore) for number in numbers]
    fd_before = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
    listener = threading.Thread(target=listen, name="signals", daemon=True)
    listener.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(fd_before)
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
        theirs.close()
        listener.join()
        ours.close()
