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
    ("text", "n_tokens"),
    [
        ("", 0),
        ("abc def\n\t", 2),
        ("12345", 5),
        ("({[;]})", 5),
        ("漢字漢字漢字漢", 6),
        ("да", 2),
        ("\ud800", 1),
        ("ab1;", 3),
    ],
)
def test_letters_digits_signs_and_the_rest_count_in_their_own_ways(text: str, n_tokens: int) -> None:
    assert estimate_tokens(text) == n_tokens
    assert estimate_tokens(text * 90, 2.0) == pytest.approx(2 * estimate_tokens(text * 90), abs=1)


def test_the_notice_is_an_estimate_and_contradicts_nothing() -> None:
    def notice(n: int, holds: int | None, *, short: bool = False) -> str:
        return size_notice("1" * n, holds=holds, factor=1.0, short=short)

    assert notice(61_234, 4096) == "about 62,000 tokens; the context holds 4,096"
    assert notice(61_234, 4096, short=True) == "about 62,000 of 4,096 tokens"
    assert notice(4096, 4096) == notice(9999, None) == notice(0, 0) == ""
    assert notice(4097, 4096) == "about 4,100 tokens; the context holds 4,096"
    assert notice(4141, 4140) == "about 4,200 tokens; the context holds 4,140"
    assert notice(9, 8) == "about 9 tokens; the context holds 8"
