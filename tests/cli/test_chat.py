"""The chat as a user starts it: the real command on a pseudo-terminal, over the real llama.cpp and the tiny pair."""

from __future__ import annotations

import base64
import json
import re
import signal
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from specdesk import paths
from tests.cli.shell import specdesk
from tests.cli.terminal import Start, Terminal
from tests.tiny.gguf_models import BYTES, CHAT, CHATML, DRAFT, TARGET, TinyPair, write
from tests.tiny.gguf_stubs import write_stub

SEND = "\r"
ESCAPE = "\x1b"
QUIT = "\x11"
VIEW = "\x14"
RELOAD = "\x0c"
CHATS = "\x02"
COPY = "\x1bOS"

RESTORED = ("\x1b[?1049l", "\x1b[?25h", "\x1b[?1000l", "\x1b[?1003l", "\x1b[?2004l")
"""The other screen left, the cursor shown, the mouse and pastes no longer reported."""


def assert_sane(chat: Terminal) -> None:
    """The terminal is as the shell wants it."""
    for sequence in RESTORED:
        assert chat.last.rindex(sequence) > chat.last.rfind(sequence[:-1] + ("l" if sequence.endswith("h") else "h"))
    assert chat.modes_left == (True, True, True)


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
    chat.see("Ctrl+L again")
    stood = json.loads(specdesk("chats", "show", "1", "--json").stdout)["messages"][-1]
    assert (stood["state"], number.name in stood["error"]) == ("failed", True)
    assert len(stood["text"]) > 10
    chat.type(RELOAD)
    chat.see("Enter sends")
    chat.type("Again" + SEND)
    chat.see(lambda screen: "Esc stops" in screen)
    engine = chat.engine()
    chat.type(QUIT)
    assert chat.ended() == 0
    assert_sane(chat)
    assert not engine.is_running()
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
    assert_sane(chat)
    assert not engine.is_running()


def test_a_chat_that_is_killed_leaves_no_engine_and_loses_a_second_at_most(start: Start) -> None:
    chat = start()
    engine = chat.engine()
    chat.type("Remember me" + SEND)
    chat.see(lambda screen: n_accepted(screen) > 10)
    shown, at_s = n_accepted(chat.text), time.monotonic()
    chat.see(lambda _: time.monotonic() > at_s + 1.0)
    chat.child.kill(signal.SIGKILL)
    engine.wait(20)
    document = json.loads(specdesk("chats", "export", "1", "--format", "json").stdout)
    question, answer = document["messages"]
    assert question["text"] == "Remember me"
    decisions = [token["decision"] for step in answer["trace"] for token in step["drafted"]]
    assert decisions.count("accepted") >= shown
    assert answer["text"]


def n_accepted(screen: str) -> int:
    """What the panel says."""
    found = re.search(r"accepted (\d+) of", screen)
    return int(found[1]) if found else 0


def test_a_stop_while_a_long_prompt_is_read_comes_at_once(start: Start) -> None:
    """Before the last token was read: what was pasted stays in the prompt."""
    chat = start()
    chat.type("\x1b[200~" + "x y " * 3_900 + "\x1b[201~")
    chat.see("x y x y")
    chat.type(SEND)
    chat.see(lambda screen: bool(re.search(r"reading the prompt: [1-9]", screen)))
    chat.type(ESCAPE)
    began_s = time.monotonic()
    chat.see("not part of the conversation")
    assert time.monotonic() - began_s < 1.5  # the engine's part is held to half a second by its own tests
    chat.type("\x03")
    chat.type("Hello" + SEND)
    chat.see(lambda screen: n_accepted(screen) > 10)
    engine = chat.engine()
    chat.type(QUIT)
    assert chat.ended() == 0
    assert not engine.is_running()


def test_copies_are_what_was_written_whoever_takes_them(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("SSH_CONNECTION", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME", "TMUX"):
        monkeypatch.delenv(variable, raising=False)
    tool = tmp_path / "xclip"
    tool.write_text('#!/bin/sh\n/bin/cat > "$0.got"\n')
    tool.chmod(0o755)
    chat = start("-n", 60, PATH=str(tmp_path), DISPLAY=":99")
    chat.type("Hello" + SEND)
    chat.see("60 tokens")
    chat.type(COPY)
    chat.see("copied with xclip")
    written = json.loads(specdesk("chats", "show", "1", "--json").stdout)["messages"][-1]["text"]
    assert (tmp_path / "xclip.got").read_bytes() == written.encode()
    tool.unlink()
    chat.type(COPY)
    chat.see(lambda screen: "sent to the terminal" in screen and "F5 writes" in screen)
    sent = re.findall(r"\x1b\]52;c;([^\x07\x1b]*)", chat.last)
    assert [base64.b64decode(each) for each in sent] == [written.encode()]


def test_a_template_that_fails_is_said_when_it_is_used_with_a_way_out(open_chat: Start, tmp_path: Path) -> None:
    model = write(tmp_path / "m.gguf", replace(TARGET, vocabulary=CHAT, chat_template="{% no_such_tag %}"))
    chat = open_chat("--target", model)
    chat.see("Enter sends")
    chat.type("Hello" + SEND)
    chat.see("chat template failed")
    chat.see("--chat-template FILE")
    chat.see("Enter sends")
    chat.type(QUIT)
    assert chat.ended() == 0
    template = tmp_path / "own.jinja"
    template.write_text(CHATML)
    other = open_chat("--target", model, "--chat-template", template, "-n", 30)
    other.see("Enter sends")
    other.type("Hello" + SEND)
    other.see("30 tokens")


def test_many_models_do_not_delay_the_first_paint(open_chat: Start, tiny_pair: TinyPair) -> None:
    """By the time of the processor, which others on this machine use too, and beside a start without them: where two
    programs share a core, each counts more of it than alone; so the lesser of two counts."""

    def spent_s() -> float:
        chat = open_chat("--target", tiny_pair.target)
        chat.see("specdesk")
        spent = psutil.Process(chat.child.pid).cpu_times()
        chat.type(QUIT)
        assert chat.ended() == 0
        return float(spent.user + spent.system)

    before_s = min(spent_s(), spent_s())
    folder = paths.models_dir()
    content = write_stub(folder / "m000.gguf").read_bytes()
    for number in range(1, 300):
        (folder / f"m{number:03}.gguf").write_bytes(content)
    for number in range(5):
        (folder / f"damaged{number}.gguf").write_bytes(content[: 20 + number])
    many_s = min(spent_s(), spent_s())
    assert many_s < before_s + 0.5
    assert many_s < 2.5


def test_what_was_saved_holds_unless_an_option_says_otherwise(tiny_pair: TinyPair) -> None:
    path = paths.preferences_file()
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


@pytest.mark.parametrize("broken", ["gone", "other tokens"])
def test_a_draft_that_cannot_be_used_is_told_as_long_as_it_runs(
    open_chat: Start, tiny_pair: TinyPair, tmp_path: Path, broken: str
) -> None:
    draft = tmp_path / "draft.gguf"
    if broken == "other tokens":
        write(draft, replace(DRAFT, vocabulary=BYTES.swapped(100, 101)))
    chat = open_chat("--target", tiny_pair.target, "--draft", draft, "--ctx", 256, "-n", 8)
    chat.see("Enter sends")
    chat.see("running without speculation: ")
    chat.type(f"Once{SEND}")
    screen = chat.see("cut at the token limit")
    assert "WITHOUT SPECULATION" in screen
    assert "running without speculation: " in screen
    chat.type(QUIT)
    assert chat.ended() == 0
