"""Brings files to their places, each from the first of its sources that delivers; whatever becomes of the others."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from specdesk import paths
from specdesk.errors import NetworkError, StorageError
from specdesk.hub.artifacts import ModelFile
from specdesk.hub.download.disk_room import refuse_without_room, room_for
from specdesk.hub.download.folders import leaving_no_empty_folders, make_folder
from specdesk.hub.download.landing import land
from specdesk.hub.download.report import FetchPlan, Reporter
from specdesk.hub.here import on_disk
from specdesk.hub.here.parts import lock_of, part_bytes
from specdesk.hub.sources.source import FileSource, SourceError, SourceUnreachableError
from specdesk.hub.stopping import POLL_S, Stop, check


@dataclass(frozen=True, slots=True)
class Wanted:
    """A file that is missing."""

    file: ModelFile
    path: Path
    """Where it belongs, in the models directory."""
    sources: Sequence[FileSource]
    is_here: Callable[[], bool]
    """Whether it has come meanwhile, by another process."""
    landed: Callable[[], None] | None = None
    """Called when it has its name. May raise OSError."""


def bring(
    wanted: Sequence[Wanted],
    report: Reporter,
    stop: Stop,
    *,
    name: str,
    memory_bytes: int | None,
    licences: tuple[str, ...],
) -> None:
    """Fetch all of it; `name` is what the user calls it.

    Raises: NetworkError when every source of a file failed, naming each and why; StorageError when the disk has not
    enough room for all of it, or refuses, or when a place leads out of the models directory, or
    is taken by what is no file; Interrupted.
    """
    for one in wanted:
        on_disk.refuse_outside(one.path)
        with disk_errors(one.path):
            on_disk.refuse_what_is_no_file(one.path)
    destination = paths.models_dir()
    with leaving_no_empty_folders([destination, *(one.path.parent for one in wanted)]):
        _bring(wanted, destination, report, stop, name=name, memory_bytes=memory_bytes, licences=licences)


def _bring(
    wanted: Sequence[Wanted],
    destination: Path,
    report: Reporter,
    stop: Stop,
    *,
    name: str,
    memory_bytes: int | None,
    licences: tuple[str, ...],
) -> None:
    make_folder(destination)
    with disk_errors(destination):
        room = room_for([(one.path, one.file) for one in wanted], destination)
    report.begin(
        FetchPlan(
            name=name,
            files=tuple(one.file.path for one in wanted),
            size_bytes=sum(one.file.size_bytes for one in wanted),
            here_bytes=sum(min(part_bytes(one.path), one.file.size_bytes) for one in wanted),
            memory_bytes=memory_bytes,
            licences=licences,
            destination=destination,
            free_bytes=room.free_bytes,
        )
    )
    refuse_without_room(room, destination)
    unreachable: dict[str, str] = {}
    for one in wanted:
        with disk_errors(one.path):
            one.path.parent.mkdir(parents=True, exist_ok=True)
            with _turn(one.path, report, stop):
                if one.is_here():
                    continue
                _fetch_file(one.file, one.path, one.sources, report, unreachable, stop)
                if one.landed is not None:
                    one.landed()


def _fetch_file(
    file: ModelFile,
    path: Path,
    sources: Sequence[FileSource],
    report: Reporter,
    unreachable: dict[str, str],
    stop: Stop,
) -> None:
    """Tries the sources in order. `unreachable` says of which nothing can be had; they are not asked again."""
    failures: list[str] = []
    for number, source in enumerate(sources, start=1):
        if source.name in unreachable:
            failures.append(unreachable[source.name])
            continue
        try:
            land(file, path, source, report, stop)
        except SourceError as error:
            failures.append(str(error))
            if isinstance(error, SourceUnreachableError):
                unreachable[source.name] = str(error)
            if number < len(sources):
                report.notice(f"{error}; trying {sources[number].name}")
        else:
            return
    raise NetworkError(f"{file.path} could not be fetched: {'; '.join(failures)}")


@contextlib.contextmanager
def _turn(path: Path, report: Reporter, stop: Stop) -> Iterator[None]:
    """Holds the file against other processes; says so if it has to wait for one."""
    lock = FileLock(lock_of(path))
    try:
        lock.acquire(blocking=False)
    except Timeout:
        report.notice(f"another specdesk is fetching {path.name}; waiting for it")
        while not lock.is_locked:
            check(stop)
            with contextlib.suppress(Timeout):
                lock.acquire(timeout=POLL_S)
    try:
        yield
    finally:
        if not path.exists() and not part_bytes(path):
            with contextlib.suppress(OSError):  # nothing has come, nothing is to be locked
                lock_of(path).unlink(missing_ok=True)
        lock.release()


@contextlib.contextmanager
def disk_errors(path: Path) -> Generator[None]:
    """What the disk refuses becomes a StorageError; broken pipes and the like are somebody else's."""
    try:
        yield
    except ConnectionError:
        raise
    except OSError as error:
        hint = paths.ROOM_HINT if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        # It may lie beside the file: a part, a lock.
        place = error.filename if isinstance(error.filename, str) else path
        raise StorageError(f"{place}: {error.strerror or error}", hint) from error
