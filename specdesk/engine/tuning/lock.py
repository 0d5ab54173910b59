"""One at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from specdesk.errors import StorageError, UsageError
from specdesk.paths import home


@contextmanager
def alone() -> Iterator[None]:
    """Nobody else tunes meanwhile, or undoes it: two would take each other's files, and each other's time.

    Raises: UsageError if somebody does; StorageError if the disk refuses.
    """
    path = home() / ".tune.lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}", "SPECDESK_HOME names another directory") from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError("another specdesk tune is at work", "wait until it has ended") from error
        except OSError:  # a file system without locks: nothing can tell, and that is no reason not to tune
            pass
        yield
    finally:
        os.close(lock)
