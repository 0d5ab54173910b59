"""What the tests of the command share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.terminal import Start, Terminal
from tests.tiny.gguf_models import TinyPair

OPTIONS = ("--threads", 1, "--ctx", 16_384, "--seed", 1, "-t", 1, "-k", 4)


@pytest.fixture
def open_chat() -> Iterator[Start]:
    """Starts chats, and ends them with the test."""
    started: list[Terminal] = []

    def start_one(*args: object, **env: str) -> Terminal:
        terminal = Terminal(("chat", *OPTIONS, *args), rows=40, columns=130, **env)
        started.append(terminal)
        return terminal

    yield start_one
    for terminal in started:
        terminal.close()


@pytest.fixture
def start(open_chat: Start, tiny_pair: TinyPair) -> Start:
    """Starts chats over the tiny pair, and waits until one can be asked."""

    def start_one(*args: object, **env: str) -> Terminal:
        terminal = open_chat("--target", tiny_pair.target, "--draft", tiny_pair.draft, *args, **env)
        terminal.see("Enter sends")
        return terminal

    return start_one
