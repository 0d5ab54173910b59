"""How fast something arrives, also where it comes in bursts."""

from __future__ import annotations

from collections import deque
from typing import Final

_OVER_S: Final = 30.0
_EACH_S: Final = 0.5
_AT_LEAST_S: Final = 1.0


class Rate:
    """Bytes per second over the last half minute, waits included: a package of 50 MB arrives all at once."""

    def __init__(self, now_s: float) -> None:
        self._total = 0
        self._samples = deque([(now_s, 0)])

    def add(self, n_bytes: int, now_s: float) -> None:
        """So many more have come."""
        self._total += n_bytes
        if now_s - self._samples[-1][0] >= _EACH_S:
            self._samples.append((now_s, self._total))

    def at(self, now_s: float) -> float | None:
        """Bytes per second; None while there is too little to judge by."""
        while len(self._samples) > 1 and self._samples[1][0] <= now_s - _OVER_S:
            self._samples.popleft()
        since_s, before = self._samples[0]
        elapsed_s = now_s - since_s
        return (self._total - before) / elapsed_s if elapsed_s >= _AT_LEAST_S else None
