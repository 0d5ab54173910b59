"""How often an answer under way is painted: llama.cpp's threads wait for one another, so painting delays them all."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

SOONEST_S: Final = 1 / 15
LATEST_S: Final = 1 / 4
FIGURES_S: Final = 0.5
"""Figures stand still that long at least; faster ones cannot be read."""

_SHARE: Final = 0.04
_MEMORY: Final = 0.8


class Pace:
    """Says when to paint next, so that the screen's thread takes a small part of one core.

    `cpu_s` is the processor time of the calling thread, in seconds.
    """

    def __init__(self, cpu_s: Callable[[], float] = time.thread_time) -> None:
        self._cpu_s = cpu_s
        self._cpu_before = cpu_s()
        self._cost_s = 0.0

    @property
    def wait_s(self) -> float:
        """From the first event that waits to be shown until it is shown."""
        return min(LATEST_S, max(SOONEST_S, self._cost_s / _SHARE))

    def painted(self) -> None:
        """Everything that waited is being shown."""
        cpu = self._cpu_s()
        spent = cpu - self._cpu_before
        self._cpu_before = cpu
        self._cost_s = _MEMORY * self._cost_s + (1 - _MEMORY) * spent
