"""What is said of a fetch."""

from __future__ import annotations

from typing import Final

from rich.filesize import decimal

from specdesk.hub.here.fit import fit
from specdesk.tui.file_names import with_tilde
from specdesk.tui.models.offer import Offer


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


def kept(offer: Offer) -> str:
    """What stays of a fetch that ended early."""
    here = offer.here_bytes
    if not here:
        return ""
    words = f"{decimal(here)} are kept: the next download goes on from there"
    # The part may hold the beginning of a package, which is fetched whole or not at all.
    return f"{words} (with packages: from the last complete one)" if offer.in_packages else words


OFFLINE: Final = (
    "HF_HUB_OFFLINE is set, so nothing is downloaded. O chooses models that are on this disk; to download, leave, "
    "unset it and start specdesk again."
)
"""What is said in the place of an offer where the user wants no network."""
