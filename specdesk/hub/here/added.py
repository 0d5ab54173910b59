"""Files and folders of the user's, and of other apps, that are used where they lie. Only their paths are kept."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
from filelock import FileLock, Timeout

from specdesk.errors import StorageError, UsageError
from specdesk.paths import added_file, models_dir
from specdesk.whole_file import replace_whole

_VERSION: Final = 1
_PATIENCE_S: Final = 10.0


class _Record(msgspec.Struct, forbid_unknown_fields=True):
    """The file."""

    version: int
    paths: list[str]


def added_paths() -> tuple[Path, ...]:
    """What was added, in that order; it may be gone. Raises StorageError where the record cannot be read."""
    return tuple(map(Path, _read()))


def place_of(path: Path) -> Path:
    """As it is kept: absolute. Links stay, since what they lead to may change, and then means something else."""
    return Path(os.path.normpath(path.absolute()))


def holder_of(path: Path) -> Path | None:
    """The models folder, or the folder that was added, in which the path lies; None where there is none.

    Raises StorageError where the record cannot be read.
    """
    wanted = place_of(path)
    return next((folder for folder in (models_dir(), *added_paths()) if folder in wanted.parents), None)


def add(path: Path) -> bool:
    """Keep the path, made absolute; False where it was added already.

    Raises: StorageError where the record can neither be read nor replaced; UsageError for a name that is no text.
    """
    wanted = str(place_of(path))
    try:
        wanted.encode()
    except UnicodeEncodeError:
        raise UsageError(f"the name of {wanted!r} is not UTF-8 text", "rename it, or link to it") from None
    with _turn():
        known = _read()
        if wanted in known:
            return False
        _replace([*known, wanted])
    return True


def forget(path: Path) -> bool:
    """Keep the path no longer; False where it had not been added. Raises StorageError as `add` does."""
    wanted = str(place_of(path))
    with _turn():
        known = _read()
        if wanted not in known:
            return False
        _replace([other for other in known if other != wanted])
    return True


@contextlib.contextmanager
def _turn() -> Iterator[None]:
    """Between reading and replacing nobody else does either."""
    file = added_file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(file.with_name(f".{file.name}.lock"), timeout=_PATIENCE_S)
        with lock:
            yield
    except Timeout:
        raise StorageError(f"{file}: another specdesk has been changing it for {_PATIENCE_S:.0f} s") from None
    except OSError as error:
        raise StorageError(f"{file}: {error.strerror}", "SPECDESK_HOME names the directory") from error


def _read() -> list[str]:
    file = added_file()
    try:
        if not file.exists():
            return []
        # A pipe in its place would be waited for.
        if not file.is_file():
            raise _unreadable(file, "it is no regular file")
        record = msgspec.json.decode(file.read_bytes(), type=_Record)
    except OSError as error:
        raise _unreadable(file, str(error.strerror)) from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _unreadable(file, str(error)) from error
    if record.version != _VERSION:
        raise _unreadable(file, f"it is of version {record.version}, and this specdesk reads {_VERSION}")
    return record.paths


def _replace(paths: list[str]) -> None:
    replace_whole(added_file(), msgspec.json.format(msgspec.json.encode(_Record(_VERSION, paths))) + b"\n")


def _unreadable(file: Path, what: str) -> StorageError:
    return StorageError(
        f"which files were added cannot be read: {file}: {what}", "mend it, or delete it and add them again"
    )
