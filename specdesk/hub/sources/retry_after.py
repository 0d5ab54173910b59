"""How long a server asks to be left alone."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

_FOREVER_S: Final = 1e9
"""More is not to be told from it, and some is no number of seconds."""


def asked_to_wait_s(header: str, now: datetime | None = None) -> float | None:
    """Seconds by a Retry-After header, which counts them or names a time; None where there is none to be read."""
    header = header.strip()
    if header.isascii() and header.isdecimal():
        return min(float(header), _FOREVER_S)
    try:
        until = parsedate_to_datetime(header)
    except (ValueError, OverflowError):
        return None
    if until.tzinfo is None:
        until = until.replace(tzinfo=UTC)
    return max(0.0, (until - (now or datetime.now(UTC))).total_seconds())
