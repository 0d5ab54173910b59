"""The file of --trace."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any, Self

from specdesk.errors import StorageError, UsageError
from specdesk.hub.gguf.magic import begins_as_gguf


class Trace:
    """One JSON line per step, written as it happens, so that a run that dies leaves its trace."""

    def __init__(self, path: Path) -> None:
        """Raises StorageError if the file cannot be written."""
        self._path = path
        try:
            if begins_as_gguf(path):
                raise UsageError(f"{path} is a model file; the trace will not overwrite it")
            self._file = path.open("w", encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise self._refused(error) from error

    def add(self, record: dict[str, Any]) -> None:
        """Write a line. Raises StorageError if the disk refuses."""
        try:
            self._file.write(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")
            self._file.flush()
        except OSError as error:
            raise self._refused(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        # What could not be written has been reported; closing would only fail over it again.
        with contextlib.suppress(OSError):
            self._file.close()

    def _refused(self, error: OSError) -> StorageError:
        return StorageError(f"cannot write the trace {self._path}: {error.strerror}")
