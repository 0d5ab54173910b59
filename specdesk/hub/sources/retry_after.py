"""How long a server asks to be left alone."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def asked_to_wait_s(header: str, now: datetime | None = None) -> float | None:
    """Seconds by a Retry-After header, which counts them or names a time; None where there is none to be read."""
    header = header.strip()
    if header.isascii() and header.isdecimal():
        return float(header)
    try:
        until = parsedate_to_datetime(header)
    except ValueError:
        return None
    if until.tzinfo is None:
        until = until.replace(tzinfo=UTC)
    return max(0.0, (until - (now or datetime.now(UTC))).total_seconds())
