"""What is said of a fetch."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Final

from rich.filesize import decimal

from specdesk.hub.fit import fit
from specdesk.tui.file_names import with_tilde
from specdesk.tui.models.fetch_thread import FetchProgress
from specdesk.tui.models.offer import Offer

_SILENT_S: Final = 3.0
"""How long nothing may have come before that is said."""


def offered(offer: Offer) -> str:
    """Which pair it is, and what it is good for."""
    return f"The recommended pair {offer.name} is not on this disk yet.\n{offer.summary}."


def needs(offer: Offer) -> str:
    """What fetching takes: bytes, a place, memory."""
    room = ""
    if offer.room is not None:
        room = f", {decimal(offer.room.free_bytes)} free"
        if not offer.room.suffices:
            room += f": {decimal(offer.room.needed_bytes)} needed"
    return "\n".join(
        (
            f"fetch   {decimal(offer.size_bytes)}",
            f"to      {with_tilde(offer.destination)}{room}",
            f"memory  {memory(offer.memory_bytes, offer.free_memory_bytes, offer.n_ctx)}",
        )
    )


def memory(needed_bytes: int, free_bytes: int, n_ctx: int) -> str:
    """Whether it fits, with the numbers."""
    return (
        f"{fit(needed_bytes, free_bytes)}: about {decimal(needed_bytes)} with a context of {n_ctx:,} tokens, "
        f"{decimal(free_bytes)} free"
    )


def going(progress: FetchProgress, arrived: int, size: int) -> str:
    """How far all of it is, how fast, how long still."""
    words = f"{decimal(arrived)} of {decimal(size)}"
    if arrived >= size:
        return words
    if progress.bytes_per_s:
        left_s = math.ceil((size - arrived) / progress.bytes_per_s)
        words += f" · {decimal(int(progress.bytes_per_s))}/s · {timedelta(seconds=left_s)} left"
    if progress.silent_s >= _SILENT_S:
        words += f" · the last came {progress.silent_s:.0f} s ago"
    return words


def kept(offer: Offer) -> str:
    """What stays of a fetch that ended early."""
    here = offer.here_bytes
    if not here:
        return ""
    return f"{decimal(here)} are kept: the next download goes on from there, or from the last whole piece"
