"""A pair that may be fetched: what comes, where to, and what it takes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from specdesk import paths
from specdesk.hub.artifacts import Pair
from specdesk.hub.download.disk_room import DiskRoom, room_for
from specdesk.hub.download.tally import FileProgress
from specdesk.hub.here.fit import free_memory
from specdesk.hub.here.on_disk import arrived_bytes, is_present, missing_files, missing_of_pair
from specdesk.hub.sources.offline import is_offline


@dataclass(frozen=True, slots=True)
class OfferedFile:
    """One file of it."""

    role: str
    """target or draft."""
    name: str
    repo: str
    licence: str
    size_bytes: int
    here_bytes: int
    """What of it has come already; all of it where it is complete."""
    complete: bool

    @property
    def progress(self) -> FileProgress:
        """How far it is before anything is fetched."""
        return FileProgress(self.here_bytes, self.size_bytes, self.complete)


@dataclass(frozen=True, slots=True)
class Offer:
    """What is said before the first byte."""

    name: str
    summary: str
    files: tuple[OfferedFile, ...]
    destination: Path
    room: DiskRoom | None
    """None where the disk does not say."""
    memory_bytes: int
    free_memory_bytes: int
    n_ctx: int
    offline: bool = False
    """Whether HF_HUB_OFFLINE asks for no network, so that nothing can be fetched as long as this program runs."""
    in_packages: bool = False
    """Whether something that is missing may come in packages, of which only whole ones are gone on from."""

    @property
    def size_bytes(self) -> int:
        """What is still to come."""
        return sum(file.size_bytes - file.here_bytes for file in self.files)

    @property
    def here_bytes(self) -> int:
        """What has come already of files that are not complete."""
        return sum(file.here_bytes for file in self.files if not file.complete)


def still_to_come(pair: Pair) -> int:
    """Bytes of the pair that are not here. Raises StorageError where the disk does not say."""
    files = ((artifact, file) for artifact in pair.artifacts for file in artifact.files)
    return sum(file.size_bytes - arrived_bytes(artifact, file) for artifact, file in files)


def offer_of(pair: Pair, n_ctx: int) -> Offer:
    """What fetching the pair means now. Raises StorageError where the disk does not say what is there."""
    files = []
    for role, artifact in zip(("target", "draft"), pair.artifacts, strict=True):
        for file in artifact.files:
            complete, here = is_present(artifact, file), arrived_bytes(artifact, file)
            files.append(OfferedFile(role, file.path, artifact.repo, artifact.licence, file.size_bytes, here, complete))
    try:
        room = room_for(missing_of_pair(pair), paths.models_dir())
    except OSError:
        room = None
    return Offer(
        pair.name,
        pair.summary,
        tuple(files),
        paths.models_dir(),
        room,
        pair.memory_bytes(n_ctx),
        free_memory(),
        n_ctx,
        is_offline(),
        any(artifact.wheels is not None and missing_files(artifact) for artifact in pair.artifacts),
    )
