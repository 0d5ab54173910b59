"""A limit on how long foreign code may take."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises TimeoutError within, when that time is over.

    Only Python code of the main thread can be ended so; in other threads there is no limit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def over(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"it took longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
