"""The chat on real pseudo-terminals that show few colours, or none: what reaches the terminal can be read there."""

from __future__ import annotations

import re
from typing import Final

import pytest
from pyte.screens import Char

from tests.cli.terminal import Terminal
from tests.tiny.gguf_models import TinyPair

SETTINGS, HELP, ESCAPE, PALETTE, QUIT = "\x13", "\x1bOP", "\x1b", "\x10", "\x11"
COMPARE, MODELS = "\x1bOR", "\x0f"
COLOUR: Final = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;\d+)*m")
NAMED: Final = {"black", "red", "green", "brown", "blue", "magenta", "cyan", "white"}
SIXTEEN: Final = {"default", *NAMED, *(f"bright{name}" for name in NAMED)}
TERMINALS: Final = {
    "16 colours": {"TERM": "xterm-16color", "COLORTERM": ""},
    "16 colours on white": {"TERM": "xterm-16color", "COLORTERM": "", "COLORFGBG": "0;15"},
    "the Linux console": {"TERM": "linux", "COLORTERM": ""},
    "dumb": {"TERM": "dumb", "COLORTERM": ""},
    "no colours wanted": {"TERM": "xterm-256color", "COLORTERM": "truecolor", "NO_COLOR": "1"},
    "no colours wanted of 16": {"TERM": "xterm-16color", "COLORTERM": "", "NO_COLOR": "1"},
}


def hidden(terminal: Terminal, *, light: bool) -> list[Char]:
    """What is written in the colour of its background."""
    ink, paper = ("black", "white") if light else ("white", "black")

    def seen(colour: str, default: str) -> str:
        return default if colour == "default" else colour

    return [cell for cell in terminal.cells if cell.data.strip() and seen(cell.fg, ink) == seen(cell.bg, paper)]


@pytest.mark.parametrize("name", TERMINALS)
def test_every_screen_can_be_read(tiny_pair: TinyPair, name: str) -> None:
    env = TERMINALS[name]
    files = ("--target", tiny_pair.target, "--draft", tiny_pair.draft)
    options = ("--threads", 1, "--seed", 1, "-t", 1, "-k", 4, "-n", 40)
    terminal = Terminal(("chat", *files, *options), rows=45, columns=100, **env)
    written = ""

    def look(keys: str, wanted: str) -> None:
        nonlocal written
        terminal.last = ""
        terminal.type(keys)
        terminal.see(wanted)
        assert hidden(terminal, light="COLORFGBG" in env) == []
        written += terminal.last

    def back(gone: str) -> None:
        terminal.type(ESCAPE)
        terminal.see(lambda screen: gone not in screen)

    try:
        terminal.see("Enter sends")
        look("Hello\r", "40 tokens")
        look("\x14", "replacement")  # the tokens, and the legend beside them
        look(SETTINGS, "Ctrl+S saves")
        look("x", "! temperature must be a number")
        back("Ctrl+S saves")
        look(HELP, "Esc closes")
        back("Esc closes")
        look(COMPARE, "Keep plain")
        back("Keep plain")
        look(MODELS, "Type to filter")
        back("Type to filter")
        look(PALETTE, "Show all keys, what colours mean")
        back("Search for commands")
        terminal.type(QUIT)
        assert terminal.ended() == 0
    finally:
        terminal.close()
    if env["TERM"] == "dumb" or (env["TERM"] == "xterm-16color" and "NO_COLOR" in env):
        found = COLOUR.search(written)
        assert found is None, repr(written[max(0, found.start() - 200) : found.end() + 100])
    elif "NO_COLOR" not in env:
        assert {cell.fg for cell in terminal.cells} <= SIXTEEN
