"""Keys and pastes out of what a terminal sends, wherever it is cut."""

from __future__ import annotations

import pytest
from textual import events

from specdesk.tui.terminal.pastes import PasteSafeParser
from tests.tui.samples import CHARACTERS, CONTROLS, MARKUP

START, END = "\x1b[200~", "\x1b[201~"


def parsed(*pieces: str) -> list[tuple[str, str]]:
    parser = PasteSafeParser()
    found: list[tuple[str, str]] = []
    for piece in pieces:
        for event in parser.feed(piece):
            match event:
                case events.Key():
                    found.append(("key", event.key))
                case events.Paste():
                    found.append(("paste", event.text))
                case _:
                    pytest.fail(f"neither key nor paste: {event}")
    return found


TEXTS = [
    "",
    "one\rtwo\r",
    "a\x1b[31mred\x1b[0m\rb",
    "ends in \x1b",
    "ends in half a mark \x1b[201",
    "\x1b[200~ twice",
    CONTROLS,
    *MARKUP,
    *CHARACTERS,
]


@pytest.mark.parametrize("text", TEXTS)
def test_all_between_the_marks_is_one_paste_however_it_is_cut(text: str) -> None:
    """Bug: an ESC in a paste was taken for a key, and an Enter after it sent what had been pasted so far."""
    sent = f"x{START}{text}{END}y\x1b[A{START}again{END}z"
    whole = [("key", "x"), ("paste", text), ("key", "y"), ("key", "up"), ("paste", "again"), ("key", "z")]
    assert parsed(sent) == whole
    assert parsed(*sent) == whole
    for cut in range(1, len(sent)):
        assert parsed(sent[:cut], sent[cut:]) == whole


def test_a_pause_within_the_end_mark_loses_no_end() -> None:
    """Bug: the program took all that followed for more of the paste, for ever."""
    parser = PasteSafeParser()
    list(parser.feed(f"{START}text\x1b"))
    assert parser._timeout_time is None  # nothing waits for a key that an ESC begins
    found = [*parser.tick(), *parser.feed("[201~k")]
    assert [type(event) for event in found] == [events.Paste, events.Key]


def test_the_end_of_the_input_is_an_end() -> None:
    parser = PasteSafeParser()
    list(parser.feed("\x1b"))
    assert [event.key for event in parser.feed("") if isinstance(event, events.Key)] == ["escape"]
