"""The chat as a user starts it: the real command on a pseudo-terminal, over the real llama.cpp and the tiny pair."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pexpect
import pytest

from tests.cli.shell import COMMAND, TIMEOUT_S
from tests.tiny.gguf_models import TinyPair

LEFT_ALTERNATE_SCREEN = "\x1b[?1049l"
CURSOR_SHOWN = "\x1b[?25h"


@pytest.fixture
def chat(tiny_pair: TinyPair) -> Iterator[pexpect.spawn[str]]:
    files = ["--target", str(tiny_pair.target), "--draft", str(tiny_pair.draft)]
    child = pexpect.spawn(
        COMMAND[0],
        [*COMMAND[1:], "chat", *files, "--threads", "1", "--ctx", "2048", "-n", "60", "--seed", "1", "-t", "1"],
        env=os.environ | {"TERM": "xterm-256color"},
        dimensions=(35, 120),
        timeout=TIMEOUT_S,
        encoding="utf-8",
        codec_errors="replace",
    )
    try:
        child.expect("Enter sends")
        yield child
    finally:
        child.close(force=True)


def ended(chat: pexpect.spawn[str]) -> int | None:
    """The exit code, once the terminal was given back as it was."""
    chat.expect(pexpect.EOF)
    last = chat.before
    assert isinstance(last, str)
    assert LEFT_ALTERNATE_SCREEN in last
    assert CURSOR_SHOWN in last
    chat.close()
    status: int | None = chat.exitstatus
    return status


def test_ask_read_and_quit(chat: pexpect.spawn[str]) -> None:
    chat.send("Hello")
    chat.send("\r")
    chat.expect("60 tokens")
    chat.send("\x11")
    assert ended(chat) == 0


@pytest.mark.parametrize("asked", [False, True])
def test_a_sigterm_gives_the_terminal_back(chat: pexpect.spawn[str], asked: bool) -> None:
    if asked:
        chat.send("Hello")
        chat.send("\r")
        chat.expect("Esc")
    chat.kill(signal.SIGTERM)
    assert ended(chat) == 0
