"""Will it fit in memory? By estimates, and by what is free now."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import psutil

from specdesk.system_memory import system_memory

_TIGHT: Final = 0.8
"""The part of the free memory from which on other programs will feel it."""


class Fit(StrEnum):
    """How something goes into the free memory."""

    FITS = "fits"
    TIGHT = "tight"
    NOT = "does not fit"


def fit(needed_bytes: int, free_bytes: int) -> Fit:
    """How so much goes into that."""
    if needed_bytes > free_bytes:
        return Fit.NOT
    return Fit.TIGHT if needed_bytes > _TIGHT * free_bytes else Fit.FITS


def free_memory() -> int:
    """Bytes that models could take: what the system has available, and what this process's children give back.

    Models that run now are freed before others are loaded. Memory of a GPU is not looked at.
    """
    given_back = 0
    for child in psutil.Process().children():
        try:
            used = child.memory_info()
        except psutil.Error:  # it has just ended
            continue
        # What is mapped from a file counts as available already.
        given_back += used.rss - getattr(used, "shared", 0)
    return system_memory().available + given_back
