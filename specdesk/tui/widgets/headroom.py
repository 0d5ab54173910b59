"""Rows kept free below a text that grows: each new height lays out and paints the whole screen anew."""

from __future__ import annotations

from typing import Final

SPARE: Final = 3
"""Rows that may be free below a growing text."""


class Headroom:
    """How many rows a text is given, of those it takes, while it grows and afterwards."""

    def __init__(self) -> None:
        self._given = 0

    def fits(self, n_rows: int, *, grows: bool) -> bool:
        """Whether a text of so many rows may keep what it was given."""
        return n_rows <= self._given <= n_rows + SPARE if grows else n_rows == self._given

    def give(self, n_rows: int, *, grows: bool) -> int:
        """The rows for such a text: as many as before if they fit."""
        if not self.fits(n_rows, grows=grows):
            self._given = n_rows + (SPARE if grows else 0)
        return self._given
