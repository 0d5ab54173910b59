"""How native work is stopped."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class StopFlag:
    """Stops loading, and native passes half-way, from any thread, without a line of Python in their way.

    It stays set until its owner clears it, so that a stop that comes too early is not lost.

    llama.cpp asks a C function hundreds of times per pass. A Python callback would wait for the interpreter lock each
    time, and a busy screen would slow decoding down. `strlen` is such a C function: it says "stop" once the buffer is
    not empty.
    """

    def __init__(self) -> None:
        self._buffer = ctypes.create_string_buffer(2)
        self.function = ctypes.cast(ctypes.CDLL(None).strlen, ctypes.c_void_p)
        """A C function that takes `data` and tells whether to stop."""
        self.data = ctypes.cast(self._buffer, ctypes.c_void_p)
        self._watchers: list[Callable[[], None]] = []

    def set(self) -> None:
        """Stop the pass under way, and every one after it."""
        self._buffer[0] = b"!"
        for told in tuple(self._watchers):
            told()

    def clear(self) -> None:
        """Let passes run again."""
        self._buffer[0] = b"\0"

    @contextmanager
    def watched(self, told: Callable[[], None]) -> Iterator[None]:
        """Within: `told` is called each time the flag is set, by the thread that sets it."""
        self._watchers.append(told)
        try:
            yield
        finally:
            self._watchers.remove(told)

    def is_set(self) -> bool:
        """Whether passes are being stopped."""
        return bool(self._buffer[0] != b"\0")
