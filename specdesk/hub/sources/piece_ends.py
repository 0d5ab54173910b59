"""Where the pieces of a file ended that are here already: a fetch goes on with the next whole piece."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path


class PieceEnds:
    """Kept as a small JSON file beside the part; one that is damaged counts as none, since the sha256 decides."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ends = self._read()

    def before(self, n_bytes: int) -> tuple[int, int]:
        """How many whole pieces the first so many bytes hold, and the bytes of these."""
        ends = [end for end in self._ends if end <= n_bytes]
        return len(ends), ends[-1] if ends else 0

    def add(self, end: int) -> None:
        """Another piece is there."""
        self._ends.append(end)
        self._write()

    def keep(self, n_pieces: int) -> None:
        """Forget all but the first so many."""
        if n_pieces < len(self._ends):
            del self._ends[n_pieces:]
            self._write()

    def _write(self) -> None:
        if self._ends:
            self._path.write_text(json.dumps(self._ends), encoding="utf-8")
        else:
            self._path.unlink(missing_ok=True)

    def _read(self) -> list[int]:
        try:
            ends = json.loads(self._path.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError, RecursionError):
            return []
        if not isinstance(ends, list) or not all(type(end) is int for end in ends):
            return []
        return ends if all(a < b for a, b in pairwise([0, *ends])) else []
