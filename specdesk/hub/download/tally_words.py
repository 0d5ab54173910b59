"""How far a fetch is, in words the shell and the chat share."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Final

from rich.filesize import decimal

from specdesk.hub.download.tally import FetchProgress

_SILENT_S: Final = 3.0
"""How long nothing may have come before that is said."""

_STALLED_S: Final = 10.0
"""How long before it is called a stall; a source of pieces is silent while the next one is on its way."""


def going(progress: FetchProgress, arrived: int, size: int) -> str:
    """How far all of it is, how fast, how long still."""
    words = f"{decimal(arrived)} of {decimal(size)}"
    how_fast = pace(progress, size - arrived)
    return f"{words} · {how_fast}" if how_fast else words


def pace(progress: FetchProgress, missing: int) -> str:
    """How fast it comes, and how long so many bytes still take; empty where that cannot be told."""
    if missing <= 0:
        return ""
    silent = f"nothing for {progress.silent_s:.0f} s"
    if progress.silent_s >= _STALLED_S:
        return f"stalled: {silent}"
    left_s = time_left_s(progress, missing)
    words = []
    if progress.bytes_per_s and left_s is not None:
        words = [f"{decimal(int(progress.bytes_per_s))}/s", f"{timedelta(seconds=math.ceil(left_s))} left"]
    if progress.silent_s >= _SILENT_S:
        words.append(silent)
    return " · ".join(words)


def time_left_s(progress: FetchProgress, missing: int) -> float | None:
    """How long so many bytes still take at the rate of now; None while there is none."""
    if not progress.bytes_per_s or progress.silent_s >= _STALLED_S:
        return None
    return missing / progress.bytes_per_s
