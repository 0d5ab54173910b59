"""The files of a draft model in other formats, in a folder of ours."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Final, Self

from specdesk.engine.machine import model_identity
from specdesk.engine.stop import StopFlag
from specdesk.engine.tuning.quantize import Format, has_format, part_of, quantize
from specdesk.errors import ModelError, StorageError
from specdesk.paths import tuned_dir

FORMATS: Final = (Format.Q4_0, Format.Q8_0)
"""Those that are tried: the one with the fastest kernels, and the next without loss that would matter."""


class DraftFiles:
    """A context manager: what was made within it and not kept is gone at its end."""

    def __init__(self, draft: Path) -> None:
        """Raises ModelError for a draft that cannot be read."""
        self._draft = draft
        self._made: list[Path] = []
        identity = json.dumps(model_identity(draft), sort_keys=True)
        self._digest = hashlib.sha256(identity.encode()).hexdigest()[:12]

    def path(self, wanted: Format) -> Path:
        """Where the draft in that format lies: named after what the draft is, not after where it lies."""
        return tuned_dir() / f"{self._draft.stem}-{self._digest}-{wanted}.gguf"

    def get(self, wanted: Format, n_threads: int, stop: StopFlag) -> Path | None:
        """The file, made unless it is there; None if the draft as given has that format. Raises as `quantize` does."""
        if has_format(self._draft, wanted):
            return None
        path = self.path(wanted)
        if not _is_whole(path, wanted):
            quantize(self._draft, path, wanted, n_threads, stop)
            self._made.append(path)
        return path

    def keep(self, path: Path) -> None:
        """Let it outlive this."""
        if path in self._made:
            self._made.remove(path)

    def remove(self, path: Path) -> None:
        """Remove the file if it is one of this draft's. Raises StorageError."""
        if path in map(self.path, FORMATS):
            _removed(path)

    def remove_all(self) -> list[Path]:
        """Remove all files made of this draft, also what a killed run left; returns them. Raises StorageError."""
        paths = [self.path(wanted) for wanted in FORMATS]
        return [path for path in (*paths, *map(part_of, paths)) if _removed(path)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        while self._made:
            _removed(self._made.pop())


def _is_whole(path: Path, wanted: Format) -> bool:
    """Whether a file of an earlier run can be used."""
    try:
        return has_format(path, wanted)
    except ModelError:
        return False


def _removed(path: Path) -> bool:
    """Whether there was such a file."""
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StorageError(f"cannot remove {path}: {error.strerror}") from error
    return True
