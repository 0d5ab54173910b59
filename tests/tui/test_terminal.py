"""The prompt on a real pseudo-terminal."""

from __future__ import annotations

import json
import os
import sys

import pexpect
from textual.drivers.headless_driver import HeadlessDriver
from textual.drivers.linux_driver import LinuxDriver

from specdesk.tui.terminal.driver import TerminalDriver, terminal_driver
from specdesk.tui.written import cleaned
from tests.tui.samples import big_paste

START, END, ENTER = b"\x1b[200~", b"\x1b[201~", b"\r"


def sent(*pieces: bytes) -> str:
    """What the prompt sends when the terminal delivers these bytes."""
    child = pexpect.spawn(
        sys.executable,
        ["-m", "tests.tui.prompt_on_a_terminal"],
        env=os.environ | {"TERM": "xterm-256color"},
        dimensions=(24, 80),
        timeout=30,
    )
    try:
        child.expect(b"Enter sends")
        for piece in pieces:
            child.send(piece)
        child.expect(rb"sent: (.*)\r\n")
        text = json.loads(child.match.group(1))
    finally:
        child.close(force=True)
    assert isinstance(text, str)
    return text


def test_a_paste_with_escapes_and_line_ends_is_text() -> None:
    assert sent(START + b"\x1b[31mone\rtwo\x1b\rthree" + END, b"!", ENTER) == "[31mone\ntwo\nthree!"


def test_a_big_paste_arrives_whole() -> None:
    text = big_paste()
    assert sent(START + text.encode() + END, ENTER) == cleaned(text)


def test_characters_cut_into_bytes_and_bytes_that_are_none_end_nothing() -> None:
    """Bug: one byte that is no UTF-8 ended the program with a traceback."""
    assert sent(*(bytes([byte]) for byte in "é漢👍🏽".encode()), b"\xff\xe6x", ENTER) == "é漢👍🏽\ufffd\ufffdx"


def test_only_textuals_own_choice_is_replaced() -> None:
    assert terminal_driver(LinuxDriver) is TerminalDriver
    assert terminal_driver(HeadlessDriver) is HeadlessDriver
