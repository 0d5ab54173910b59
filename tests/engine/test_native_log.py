"""What native code says, and where it goes. Each in a process of its own: descriptors and aborts are a process's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile

import llama_cpp
import pytest
from llama_cpp import _ggml

from specdesk.engine.cores import most_threads
from specdesk.engine.native_log import NativeLog
from tests.tiny.gguf_models import TinyPair

SET_BY_US = {"GGML_NO_BACKTRACE", "GOMP_SPINCOUNT", "OMP_WAIT_POLICY"}

SETUP = """
import ctypes, os, sys
from pathlib import Path
from specdesk.engine.native_log import native_log
from specdesk.engine.llama import LlamaLM
from specdesk.engine.load_options import LoadOptions
from specdesk.engine.stop import StopFlag

def load():
    LlamaLM(Path(sys.argv[1]), LoadOptions(64, 1, 0), StopFlag()).close()

def abort():
    from llama_cpp import _ggml
    _ggml.libggml.ggml_abort(b"somewhere.c", 17, b"the %s is on fire", b"hayloft")
"""


def run(code: str, tiny_pair: TinyPair, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if name not in SET_BY_US}
    return subprocess.run(
        [sys.executable, "-c", SETUP + code, tiny_pair.target],
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def kept(code: str, tiny_pair: TinyPair) -> tuple[int, str]:
    """How code ends that keeps native output, and what is in the file that it was kept in."""
    with tempfile.TemporaryFile() as log:
        done = subprocess.run(
            [sys.executable, "-c", f"{SETUP}native_log.keep()\n{code}", tiny_pair.target], stderr=log, check=False
        )
        log.seek(0)
        return done.returncode, log.read().decode()


def test_a_quiet_load_says_nothing(tiny_pair: TinyPair) -> None:
    done = run("load()", tiny_pair)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_verbose_load_says_it_all(tiny_pair: TinyPair) -> None:
    done = run("native_log.show()\nload()\nos.write(2, b'past the log')", tiny_pair)
    assert done.returncode == 0
    assert "general.architecture" in done.stderr
    assert "n_ctx" in done.stderr
    assert done.stderr.endswith("past the log")


def test_a_kept_log_holds_what_came_since_it_was_cleared(tiny_pair: TinyPair) -> None:
    code, log = kept("os.write(2, b'long ago')\nload()\nos.write(2, b'past the log')", tiny_pair)
    assert code == 0
    assert "n_ctx" in log
    assert log.endswith("past the log")
    assert "long ago" not in log


def test_a_reason_that_went_past_the_log(tiny_pair: TinyPair) -> None:
    """What native code writes to the descriptor itself counts where its log gives no reason."""
    for written, reason in (("", ""), ("no memory\\n", "no memory")):
        code, log = kept(
            f"load()\nos.write(2, b'{written}')\nassert native_log.last_error() == '{reason}', native_log.last_error()",
            tiny_pair,
        )
        assert code == 0, log


@pytest.mark.parametrize("verbose", [True, False])
def test_last_words_before_an_abort(tiny_pair: TinyPair, verbose: bool) -> None:
    if verbose:
        done = run("native_log.show()\nabort()", tiny_pair)
        code, log = done.returncode, done.stderr
    else:
        code, log = kept("abort()", tiny_pair)
    assert code == -signal.SIGABRT
    (line,) = [line for line in log.splitlines() if line]
    assert "the hayloft is on fire" in line


@pytest.mark.parametrize(("set_by_user", "seen"), [({}, "1"), ({"GGML_NO_BACKTRACE": "0"}, "0")])
def test_no_debugger_is_started_unless_the_user_says_so(
    tiny_pair: TinyPair, set_by_user: dict[str, str], seen: str
) -> None:
    """ggml reads the environment of the C library, not Python's copy of it."""
    code = """
getenv = ctypes.CDLL(None).getenv
getenv.restype = ctypes.c_char_p
print(getenv(b"GGML_NO_BACKTRACE").decode())
"""
    assert run(code, tiny_pair, **set_by_user).stdout.strip() == seen


@pytest.mark.parametrize(
    ("set_by_user", "seen"),
    [({}, "500"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "active"}, "None")],
)
def test_threads_do_not_spin_for_long_unless_the_user_says_so(
    tiny_pair: TinyPair, set_by_user: dict[str, str], seen: str
) -> None:
    code = """
getenv = ctypes.CDLL(None).getenv
getenv.restype = ctypes.c_char_p
value = getenv(b"GOMP_SPINCOUNT")
print(value and value.decode())
"""
    done = run(code, tiny_pair, **set_by_user)
    assert done.stdout.strip() == (seen if most_threads() <= 4 or set_by_user else "None")


class TestReasons:
    """On lines as llama.cpp hands them over: level 2 informs, 3 warns, 4 is an error, 5 continues a line."""

    @pytest.fixture
    def log(self, monkeypatch: pytest.MonkeyPatch) -> NativeLog:
        # llama.cpp has one log, and this one must not take its place: it dies with the test.
        monkeypatch.setattr(llama_cpp, "llama_log_set", lambda _callback, _data: None)
        monkeypatch.setattr(_ggml, "libggml", object())
        return NativeLog()

    def test_the_first_error_is_the_reason(self, log: NativeLog) -> None:
        for level, text in (
            (2, b"loading\n"),
            (3, b"odd token\n"),
            (4, b"tensor is missing\n"),
            (2, b"freeing\n"),
            (4, b"failed to load\n"),
        ):
            log._take(level, text, None)
        assert log.reason() == "tensor is missing"
        assert log.last_error() == "failed to load"
        log.clear()
        assert log.reason() == log.last_error() == ""

    def test_a_warning_where_there_is_no_error(self, log: NativeLog) -> None:
        log._take(3, b"odd token\n", None)
        log._take(2, b"loading\n", None)
        assert log.reason() == "odd token"

    def test_a_line_in_pieces_is_one_line(self, log: NativeLog) -> None:
        for level, text in ((4, b"tensor "), (5, b"is "), (5, b"missing\n"), (2, b"done\n")):
            log._take(level, text, None)
        assert log.reason() == "tensor is missing"

    def test_bytes_that_are_no_text(self, log: NativeLog) -> None:
        log._take(4, b"bad \xff name\n", None)
        assert log.reason() == "bad \ufffd name"

    def test_only_so_many_lines_are_kept(self, log: NativeLog) -> None:
        for number in range(1000):
            log._take(4, f"error {number}\n".encode(), None)
        assert log.last_error() == "error 999"
        assert len(log._lines) < 1000
