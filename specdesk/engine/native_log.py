"""Keeps llama.cpp's words: its log, what it writes past its log to file descriptor 2, its last ones before an abort."""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

# Before llama_cpp: it sets what ggml reads when it is loaded.
import specdesk.engine.environment  # noqa: F401 # isort: skip

import llama_cpp
from llama_cpp import _ggml

_Result = TypeVar("_Result")

_KEPT_LINES = 200
_TAIL = 4096
"""Bytes in which a last line is looked for."""
_WARNING = 3
_ERROR = 4
_CONTINUES = 5
"""ggml's levels: 1 debug, 2 info, 3 warning, 4 error, 5 what belongs to the line before."""

_AbortCallback = ctypes.CFUNCTYPE(None, ctypes.c_char_p)


class NativeLog:
    """The process's one record of native output. Made once; llama.cpp's log goes here from then on, others' too."""

    def __init__(self) -> None:
        self._lines: deque[tuple[int, str]] = deque(maxlen=_KEPT_LINES)
        self._open = False
        self._verbose = False
        self._kept = False
        # ctypes callbacks die with their Python object, and llama.cpp keeps only the pointer.
        self._log_callback = llama_cpp.llama_log_callback(self._take)
        self._abort_callback = _AbortCallback(self._aborting)
        self.hear(llama_cpp.llama_log_set)
        if hasattr(_ggml.libggml, "ggml_set_abort_callback"):
            _ggml.libggml.ggml_set_abort_callback(self._abort_callback)

    def hear(self, log_set: Callable[[Any, Any], None]) -> None:
        """Take what a native library logs, whose function to set a callback this is, beside what others do."""
        log_set(self._log_callback, ctypes.c_void_p(0))

    @property
    def verbose(self) -> bool:
        """Whether every line is shown."""
        return self._verbose

    @property
    def kept(self) -> bool:
        """Whether every line is written to file descriptor 2, a file."""
        return self._kept

    def show(self) -> None:
        """From now on pass every line to standard error."""
        self._verbose = True

    def keep(self) -> None:
        """From now on write every line to file descriptor 2, which is a file that this process may cut back.

        Native code that writes to the descriptor itself lands there too, and whoever opened it can read what came last
        when the process is gone.
        """
        self._kept = True

    def last_error(self) -> str:
        """The latest line that sounds like a reason; empty if there is none."""
        return next((text for level, text in reversed(self._lines) if level >= _WARNING), self._last_past_the_log())

    def reason(self) -> str:
        """The first error since `clear`: what follows it only says, in other words, that loading failed."""
        return next((text for level, text in self._lines if level >= _ERROR), self.last_error())

    def line_with(self, words: str) -> str:
        """The first line since `clear` that has these words; empty if none has."""
        lines = (line for _level, text in self._lines for line in text.split("\n"))
        return next((line.strip() for line in lines if words in line), "")

    def clear(self) -> None:
        """Forget what was kept, so that `reason` and `last_error` speak of what comes next."""
        self._lines.clear()
        if self._kept:
            os.lseek(2, 0, os.SEEK_SET)
            os.ftruncate(2, 0)

    def past_the_log(self, call: Callable[[], _Result]) -> tuple[_Result, str]:
        """What `call` returns, and what it wrote to file descriptor 2, which reaches no terminal then."""
        sys.stderr.flush()
        before = os.dup(2)
        with tempfile.TemporaryFile(buffering=0) as taken:
            os.dup2(taken.fileno(), 2)
            try:
                result = call()
            finally:
                os.dup2(before, 2)
                os.close(before)
            taken.seek(0)
            return result, taken.read().decode("utf-8", errors="replace")

    def _last_past_the_log(self) -> str:
        """The last line that native code wrote to file descriptor 2 itself, as far as that is kept."""
        if not self._kept:
            return ""
        start = max(0, os.fstat(2).st_size - _TAIL)
        text = os.pread(2, _TAIL, start).decode("utf-8", errors="replace")
        tail = [line.strip() for line in text.split("\n")[start > 0 :]]  # the first one may be cut
        logged = {line.strip() for _level, text in self._lines for line in text.split("\n")}
        return next((line for line in reversed(tail) if line and line not in logged), "")

    def _take(self, level: int, text: bytes, _user_data: object) -> None:
        line = text.decode("utf-8", errors="replace")
        if self._verbose or self._kept:
            os.write(2, text)
        if self._lines and level == _CONTINUES:
            level = self._lines[-1][0]
        if self._open and self._lines:
            level, line = self._lines[-1][0], self._lines.pop()[1] + line
        self._open = not line.endswith("\n")
        self._lines.append((level, line if self._open else line.rstrip("\n")))

    def _aborting(self, message: bytes) -> None:
        """Last words: the process ends when this returns, and nothing in Python can stop it."""
        os.write(2, b"\n" + message.strip() + b"\n")


native_log = NativeLog()
"""llama.cpp has one log per process, so there is one of these."""
