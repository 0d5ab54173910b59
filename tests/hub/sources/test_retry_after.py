from __future__ import annotations

from datetime import UTC, datetime

import pytest

from specdesk.hub.sources.retry_after import asked_to_wait_s

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("0", 0),
        (" 120 ", 120),
        ("Thu, 01 Jan 2026 12:00:30 GMT", 30),
        ("Thu, 01 Jan 2026 12:00:30 -0000", 30),
        ("Thu, 01 Jan 2026 11:00:00 GMT", 0),
        ("", None),
        ("soon", None),
        ("9" * 500, 1e9),
        ("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", None),
        ("Mon, 01 Jan 99999 00:00:00 GMT", None),
        ("-5", None),
        ("1.5", None),
        ("\N{SUPERSCRIPT TWO}", None),
    ],
)
def test_seconds_or_a_time(header: str, seconds: float | None) -> None:
    assert asked_to_wait_s(header, NOW) == seconds
