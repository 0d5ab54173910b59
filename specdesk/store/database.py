"""One SQLite file: how it is opened, shared by threads and processes, and what its refusals mean to the user."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

from specdesk.errors import StorageError
from specdesk.store.encoding import decoded

_BUSY_S: Final = 10.0
"""How long to wait for another process that writes."""
_N_TRIES: Final = 10
"""Of what does not wait by itself."""


class Database:
    """A connection that threads take turns at. Every method raises StorageError where the disk or the file refuses."""

    def __init__(self, path: Path) -> None:
        """Open the file; one that is not there is made, readable by its owner alone."""
        self.path = path
        self._turn = threading.RLock()
        _make(path)
        with self._explained():
            self._connection = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        self._connection.row_factory = sqlite3.Row
        self._connection.text_factory = decoded
        try:
            with self._explained():
                for setting in ("synchronous = NORMAL", "foreign_keys = ON", "secure_delete = ON"):
                    self._connection.execute(f"PRAGMA {setting}")
        except BaseException:
            self.close()
            raise

    def use_wal(self) -> None:
        """Let readers and a writer work at once, and a killed process leave a whole file. Kept in the file itself."""
        with self._turn, self._explained():
            for _ in range(_N_TRIES):
                with suppress(sqlite3.OperationalError):
                    self._connection.execute("PRAGMA journal_mode = WAL")
                    return
                # Of two that switch at once one is refused and does not wait; one that is about to write waits.
                self._connection.execute("BEGIN IMMEDIATE")
                self._connection.execute("ROLLBACK")
            self._connection.execute("PRAGMA journal_mode = WAL")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The file as it is at one moment, whatever other processes write meanwhile."""
        with self._turn, self._explained():
            try:
                self._connection.execute("BEGIN")
                yield self._connection
            finally:
                self._roll_back()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Changes that are made together at the end of the block, or not at all if it raises."""
        with self._turn, self._explained():
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield self._connection
                self._connection.execute("COMMIT")
            finally:
                self._roll_back()

    def close(self) -> None:
        """Nothing can be done with it afterwards."""
        with self._turn:
            self._connection.close()

    def _roll_back(self) -> None:
        # SQLite does so itself where the disk is full.
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:
            explained = _explanation(self.path, error)
            if explained is None:
                raise
            raise explained from error


def has_trigram() -> bool:
    """Whether this SQLite indexes text by every three characters: since 3.34, if built with full-text search."""
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("CREATE VIRTUAL TABLE probe USING fts5 (text, tokenize = 'trigram')")
        except sqlite3.OperationalError:
            return False
    return True


def _make(path: Path) -> None:
    """The file and its directory, if they are not there. What SQLite puts beside it gets the same mode."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():
            raise StorageError(f"{path} is no regular file", "SPECDESK_HOME names another directory")
        # An open file that is closed would take SQLite's locks along; one that is new has none.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError as error:
        if not path.exists():  # a link to nowhere, or a file where the directory should be
            raise StorageError(f"{path}: {error.strerror}", "SPECDESK_HOME names another directory") from error
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}", "SPECDESK_HOME names another directory") from error


def _explanation(path: Path, error: sqlite3.Error | UnicodeDecodeError) -> StorageError | None:
    """What the user can do about it; None for a bug of ours."""
    if isinstance(error, UnicodeDecodeError):  # SQLite names what is damaged, as it stands there
        code = sqlite3.SQLITE_CORRUPT
    else:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    # Numbers of chats and messages are looked up before they are used: a reference that fails is one in the file.
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CONSTRAINT):
        what = "is no file of chats" if code == sqlite3.SQLITE_NOTADB else "is damaged"
        return StorageError(
            f"{path} {what}: {error}",
            f"move it away, with {path.name}-wal and {path.name}-shm if they are there, and specdesk begins a new one; "
            f"sqlite3 FILE .recover may save what is in it",
        )
    if code == sqlite3.SQLITE_FULL:
        return StorageError(f"{path}: no room left: {error}", "what was kept before is safe; make room, and try again")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL):
        return StorageError(f"{path}: another program has held it for {_BUSY_S:.0f} s", "try again when it is done")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
        return StorageError(
            f"{path} cannot be written: {error}",
            "give yourself the right to write there; SPECDESK_HOME names another directory",
        )
    if code == sqlite3.SQLITE_IOERR:
        return StorageError(f"{path}: the disk failed: {error}", "check the disk, and that there is room on it")
    return None
