"""Lines of keys."""

from __future__ import annotations

import pytest

from specdesk.tui.widgets.key_line import broken


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (80, ["Enter downloads · O others · Esc not now"]),
        (39, ["Enter downloads · O others", "Esc not now"]),
        (20, ["Enter downloads", "O others", "Esc not now"]),
        (5, ["Enter downloads", "O others", "Esc not now"]),
    ],
)
def test_a_line_of_keys_breaks_between_them(width: int, lines: list[str]) -> None:
    assert broken("Enter downloads · O others · Esc not now", width).splitlines() == lines
