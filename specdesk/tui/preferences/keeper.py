"""The file in which preferences are kept."""

from __future__ import annotations

import fcntl
import itertools
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Self

from specdesk.errors import SpecdeskError, StorageError, UsageError
from specdesk.paths import preferences_file
from specdesk.tui.preferences.record import UNTOUCHED, Preferences, read, written
from specdesk.whole_file import replace_whole

_PATIENCE_S: Final = 1.0
"""How long another specdesk may take to save: one that hangs must not hold up the screen."""
_HELD: Final = "what was changed holds for this run"


class Keeper:
    """What was saved, and where.

    A damaged file is set aside when it is opened, whole and under another name. A file that cannot be read, or that a
    newer specdesk wrote, stays as it is, and nothing is saved beside it; nor over one that was damaged since.
    """

    def __init__(self, path: Path, preferences: Preferences, problem: SpecdeskError | None = None) -> None:
        self.path = path
        self.preferences = preferences
        """As they stand in the file; the defaults where there is none, or none that is understood."""
        self.problem = problem
        """Why the file was not understood when it was opened, and where it is now; to be told."""

    @classmethod
    def open(cls, path: Path | None = None) -> Self:
        """What is saved in `path`, by default that of this user. Nothing is made."""
        path = path or preferences_file()
        try:
            return cls(path, _read(path))
        except UsageError as error:
            return cls(path, *_set_aside(path, error))
        except SpecdeskError as error:
            return cls(path, Preferences(), error)

    @property
    def can_save(self) -> bool:
        """Whether there is nothing in the way of saving, as far as can be told without trying."""
        return self.problem is None or not os.path.lexists(self.path)

    def keep(self, change: Callable[[Preferences], Preferences]) -> None:
        """Save what `change` makes of what is in the file now, where another specdesk may have saved since.

        When it returns, the file holds the whole of it, whatever happens next.
        Raises StorageError or UsageError; then the file is as it was.
        """
        with _alone_in(self.path.parent):
            try:
                found = _read(self.path)
            except SpecdeskError as error:
                raise type(error)(error.message, f"{_HELD}, and the file stays as it is") from error
            changed = change(found)
            _write(self.path, written(changed))
        self.preferences = changed


def _read(path: Path) -> Preferences:
    try:
        # A pipe in its place would be waited for.
        if path.exists() and not path.is_file():
            raise StorageError(f"{path} is no regular file", UNTOUCHED)
        return read(str(path), path.read_bytes())
    except FileNotFoundError:
        return Preferences()
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}", UNTOUCHED) from error


def _set_aside(path: Path, error: SpecdeskError) -> tuple[Preferences, SpecdeskError | None]:
    """Give a damaged file another name: what holds then, and what is to be told."""
    with _alone_in(path.parent):
        try:
            return _read(path), None  # another specdesk has set it aside meanwhile
        except UsageError:
            pass
        try:
            aside = next(name for name in _asides(path) if not os.path.lexists(name))
            path.rename(aside)
        except OSError:
            return Preferences(), error
    hint = f"set aside as {aside.name} in the same place; defaults hold until it is mended and put back"
    return Preferences(), type(error)(error.message, hint)


def _asides(path: Path) -> Iterator[Path]:
    yield path.with_name(f"{path.name}.damaged")
    yield from (path.with_name(f"{path.name}.damaged-{number}") for number in itertools.count(2))


def _write(path: Path, data: bytes) -> None:
    """Put a file with `data` in the place of the one that is there; only its owner can read it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_whole(path, data, mode=0o600)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}", _HELD) from error


@contextmanager
def _alone_in(directory: Path) -> Iterator[None]:
    """No other specdesk reads there in order to write, as far as the file system has locks."""
    try:
        lock = os.open(directory, os.O_RDONLY)
    except OSError:  # whoever writes there will say it
        yield
        return
    try:
        _wait_for(lock)
        yield
    finally:
        os.close(lock)


def _wait_for(lock: int) -> None:
    """Wait, within reason: without it the file is whole nevertheless; a change made at the same time may be lost."""
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.01)
        except OSError:
            return
        else:
            return
