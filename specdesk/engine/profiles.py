"""What was measured once for a model on a machine, kept as one small JSON file per key."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from specdesk.whole_file import replace_whole

_FORMAT = 1
"""Raised when the meaning of what is kept changes; older files are then measured anew."""


class Profiles:
    """Records by kind and key in a folder that is made when something is kept.

    A file that is missing, damaged or of another format is as good as none; one that cannot be written is reported
    through `notify`, and costs only that it is measured again.
    """

    def __init__(self, folder: Path, notify: Callable[[str], None]) -> None:
        self._folder = folder
        self._notify = notify

    def get(self, kind: str, key: Mapping[str, object]) -> Any:
        """What was kept, or None."""
        path = self._path(kind, key)
        try:
            # A pipe in its place would be waited for.
            if not path.is_file():
                return None
            kept = json.loads(path.read_text(encoding="utf-8"))
            return kept["value"] if kept["format"] == _FORMAT and kept["key"] == _plain(key) else None
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None

    def put(self, kind: str, key: Mapping[str, object], value: object) -> None:
        """Keep `value`, JSON data, in place of what was kept before."""
        path = self._path(kind, key)
        text = json.dumps({"format": _FORMAT, "key": _plain(key), "value": value}, indent=2)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_whole(path, f"{text}\n".encode())
        except OSError as error:
            self._notify(f"what was measured cannot be kept in {path}: {error.strerror}; it will be measured again")

    def remove(self, kind: str, key: Mapping[str, object]) -> bool:
        """Forget what was kept; whether there was anything, readable or not. Raises OSError if the disk refuses."""
        try:
            self._path(kind, key).unlink()
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def _path(self, kind: str, key: Mapping[str, object]) -> Path:
        digest = hashlib.sha256(json.dumps(_plain(key), sort_keys=True).encode()).hexdigest()
        return self._folder / f"{kind}-{digest[:16]}.json"


def _plain(key: Mapping[str, object]) -> Any:
    """The key as JSON gives it back."""
    return json.loads(json.dumps(key))
