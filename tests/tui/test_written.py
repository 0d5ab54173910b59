"""What the prompt takes, and how long it is."""

from __future__ import annotations

import pytest

from specdesk.tui.written import cleaned, estimate_tokens, size_notice
from tests.tui.samples import CHARACTERS


def test_line_ends_become_newlines_and_controls_go() -> None:
    assert cleaned("a\r\nb\rc\u2028d\u2029e\n") == "a\nb\nc\nd\ne\n"
    assert cleaned("\x1b[31m\x00\x07\x08\x0b\x0c\x1c\x1d\x1e\x1f\x7f\x80\x85\x9b\ud800\tx") == "[31m\tx"


@pytest.mark.parametrize("text", CHARACTERS)
def test_every_other_character_stays(text: str) -> None:
    assert cleaned(text) == text


@pytest.mark.parametrize(
    ("text", "n_tokens"), [("", 0), ("abcd", 1), ("abcde", 2), ("漢字", 2), ("да", 2), ("abcd漢", 2), ("\ud800", 1)]
)
def test_ascii_counts_by_characters_and_the_rest_by_bytes(text: str, n_tokens: int) -> None:
    assert estimate_tokens(text, 4.0) == n_tokens


def test_the_notice_is_an_estimate_and_contradicts_nothing() -> None:
    def notice(n: int, holds: int | None, *, short: bool = False) -> str:
        return size_notice("x" * n, holds=holds, chars_per_token=1.0, short=short)

    assert notice(61_234, 4096) == "about 62,000 tokens; the context holds 4,096"
    assert notice(61_234, 4096, short=True) == "about 62,000 of 4,096 tokens"
    assert notice(4096, 4096) == notice(9999, None) == notice(0, 0) == ""
    assert notice(4097, 4096) == "about 4,100 tokens; the context holds 4,096"
    assert notice(4141, 4140) == "about 4,200 tokens; the context holds 4,140"
    assert notice(9, 8) == "about 9 tokens; the context holds 8"
