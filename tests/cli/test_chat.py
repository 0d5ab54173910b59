"""The chat as a user starts it: the real command on a pseudo-terminal, over the real llama.cpp and the tiny pair."""

from __future__ import annotations

import json
import re
import signal

import pytest

from specdesk.paths import preferences_file
from tests.cli.shell import specdesk
from tests.cli.terminal import Start, Terminal
from tests.tiny.gguf_models import TinyPair

SEND = "\r"
ESCAPE = "\x1b"
QUIT = "\x11"
VIEW = "\x14"
RELOAD = "\x0c"
CHATS = "\x02"

LEFT_ALTERNATE_SCREEN = "\x1b[?1049l"
CURSOR_SHOWN = "\x1b[?25h"


def test_ask_read_quit_and_come_back(start: Start) -> None:
    chat = start("-n", 60)
    chat.type("Hello [/there]" + SEND)
    seen = chat.see("60 tokens")
    assert re.search(r"accepted \d+ of \d+", seen)
    assert "accepted draft token" in seen
    chat.type(VIEW)
    chat.see("60 tokens")
    chat.type(QUIT)
    assert chat.ended() == 0

    listed = json.loads(specdesk("chats", "list", "--json").stdout)
    assert [kept["title"] for kept in listed] == ["Hello [/there]"]

    again = start("-n", 5)
    again.see("Hello [/there]")
    again.type(CHATS + CHATS)
    again.type(SEND)
    again.see("60 tokens")
    again.type("More" + SEND)
    again.see("5 tokens")
    again.type(QUIT)
    assert again.ended() == 0
    shown = specdesk("chats", "show", "1").stdout
    assert "Hello [/there]" in shown
    assert "More" in shown


def test_stop_keeps_what_came(start: Start) -> None:
    chat = start()
    chat.type("Go" + SEND)
    chat.see(lambda screen: bool(re.search(r"accepted [1-9]\d+ of", screen)))
    chat.type(ESCAPE)
    chat.see("stopped ·")
    chat.type("On" + SEND)
    chat.see(lambda screen: "Esc stops" in screen)
    chat.type(ESCAPE)
    chat.see(lambda screen: screen.count("stopped") == 2)
    chat.type(QUIT)
    assert chat.ended() == 0


@pytest.mark.parametrize("number", [signal.SIGABRT, signal.SIGSEGV, signal.SIGKILL])
def test_an_engine_that_dies_is_survived(start: Start, number: signal.Signals) -> None:
    chat = start()
    chat.type("Go" + SEND)
    chat.see(lambda screen: bool(re.search(r"accepted [1-9]\d+ of", screen)))
    chat.engine().send_signal(number)
    chat.see(number.name)
    chat.see("llama.cpp:")
    chat.type(RELOAD)
    chat.see("Enter sends")
    chat.type("Again" + SEND)
    chat.see(lambda screen: "Esc stops" in screen)
    chat.type(QUIT)
    assert chat.ended() == 0
    kept = specdesk("chats", "show", "1").stdout
    assert "Go" in kept
    assert "Again" in kept


@pytest.mark.parametrize("asked", [False, True])
def test_a_sigterm_gives_the_terminal_back(start: Start, asked: bool) -> None:
    chat = start()
    engine = chat.engine()
    if asked:
        chat.type("Hello" + SEND)
        chat.see("Esc stops")
    chat.child.kill(signal.SIGTERM)
    assert chat.ended() == 0
    assert LEFT_ALTERNATE_SCREEN in chat.last
    assert CURSOR_SHOWN in chat.last
    assert not engine.is_running()


def test_a_chat_that_is_killed_leaves_no_engine_and_loses_no_question(start: Start) -> None:
    chat = start()
    engine = chat.engine()
    chat.type("Remember me" + SEND)
    chat.see(lambda screen: bool(re.search(r"accepted [1-9]\d+ of", screen)))
    chat.child.kill(signal.SIGKILL)
    engine.wait(20)
    assert "Remember me" in specdesk("chats", "show", "1").stdout


def test_what_was_saved_holds_unless_an_option_says_otherwise(tiny_pair: TinyPair) -> None:
    path = preferences_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('{"temperature": 0.3, "seed": 7, "ctx": 1024, "lookahead": "off"}')
    files = ("--target", tiny_pair.target, "--draft", tiny_pair.draft, "--threads", 1)
    chat = Terminal(("chat", *files, "-t", "0.8"))
    try:
        chat.see("Enter sends")
        assert "T 0.8   plain   seed 7" in chat.text
        chat.type(QUIT)
        assert chat.ended() == 0
    finally:
        chat.close()
    assert "0.3" in path.read_text()
