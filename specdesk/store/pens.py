"""Who is writing an answer, and whether that process is still there.

A pen is a file beside the file of chats, locked while its answer is written. The system lets go of the lock when the
process ends, however it ends, so a pen that is free, or gone, is one nobody writes with. Process numbers would tell
less: they are used again, clocks are set, and containers have numbers of their own.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

from specdesk.errors import StorageError


class Pens:
    """The pens of one file of chats, as one store sees them. Taken while it alone may write to that file."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._held: dict[int, int] = {}

    def take(self, answer_id: int) -> None:
        """Begin to write that answer. Raises StorageError if the disk refuses."""
        path = self._path(answer_id)
        try:
            pen = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StorageError(f"{path}: {error.strerror}", "make room, or give yourself the right to write") from error
        self._held[answer_id] = pen
        # A file system may have no locks: then others take the answer for abandoned until it is finished.
        with contextlib.suppress(OSError):
            fcntl.flock(pen, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def holds(self, answer_id: int) -> bool:
        """Whether it is this store that writes the answer."""
        return answer_id in self._held

    def put_down(self, answer_id: int) -> None:
        """Write it no more."""
        if (pen := self._held.pop(answer_id, None)) is not None:
            # While it is held: whoever goes on with the answer next takes a pen of its own.
            self.remove(answer_id)
            os.close(pen)

    def held(self) -> tuple[int, ...]:
        """The answers that this store writes."""
        return tuple(self._held)

    def lying(self) -> set[int]:
        """The answers that others write, or have left. Raises StorageError if the folder cannot be listed."""
        prefix = self._path("").name
        folder = self._database.parent
        try:
            names = [path.name for path in folder.iterdir()]
        except OSError as error:
            said = f"what ended programs left beside the chats cannot be taken away: {folder}: {error.strerror}"
            raise StorageError(said, "give yourself the right to read that folder") from error
        numbers = (name.removeprefix(prefix) for name in names if name.startswith(prefix))
        return {int(number) for number in numbers if number.isdecimal()}

    def is_abandoned(self, answer_id: int) -> bool:
        """Whether nobody writes that answer any more: one that can be seen, or else while nobody may take its pen."""
        if self.holds(answer_id):
            return False
        try:
            pen = os.open(self._path(answer_id), os.O_RDONLY)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        try:
            # Shared, so that two who look at once do not take each other for the writer.
            fcntl.flock(pen, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return True
        finally:
            os.close(pen)
        return True

    def remove(self, answer_id: int) -> None:
        """Take away what an answer left, if the disk lets it go; else another store will."""
        with contextlib.suppress(OSError):
            self._path(answer_id).unlink()

    def _path(self, answer_id: int | str) -> Path:
        return self._database.with_name(f"{self._database.name}-writing-{answer_id}")
