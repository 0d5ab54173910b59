"""The recommended pairs and the models of this disk: which are here, and which belong to which."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from specdesk.errors import StorageError
from specdesk.hub.artifacts import Artifact, Pair
from specdesk.hub.here.local_models import LocalModel
from specdesk.hub.here.on_disk import file_path, is_present
from specdesk.hub.here.parts import part_bytes
from specdesk.hub.manifest import Manifest


class Presence(StrEnum):
    """How much of a pair is on this disk."""

    HERE = "here"
    PARTLY = "partly here"
    ABSENT = "to be had"


@dataclass(frozen=True, slots=True)
class PairState:
    """A recommended pair as it is now."""

    pair: Pair
    presence: Presence
    here_bytes: int
    """Of its files that are complete, and of what has come of others."""


def pair_state(pair: Pair) -> PairState:
    """How much of it is here. Raises StorageError where the disk does not say."""
    here = sum(_here_bytes(artifact) for artifact in pair.artifacts)
    if here == pair.size_bytes:
        return PairState(pair, Presence.HERE, here)
    return PairState(pair, Presence.PARTLY if here else Presence.ABSENT, here)


class Recommended:
    """What the manifest says of the files of this disk. Raises StorageError where there is no home directory."""

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self._artifacts = {
            file_path(artifact, file).absolute(): artifact for artifact in manifest.artifacts for file in artifact.files
        }

    def artifact(self, model: LocalModel) -> Artifact | None:
        """The one whose file belongs in its place."""
        return self._artifacts.get(model.path.absolute())

    def pairs(self, model: LocalModel) -> tuple[Pair, ...]:
        """The pairs that it would be loaded for."""
        artifact = self.artifact(model)
        return () if artifact is None else tuple(pair for pair in self.manifest.pairs if artifact in pair.artifacts)

    def licence(self, model: LocalModel) -> str:
        """The manifest's word for it, or else the file's own; empty where neither says."""
        artifact = self.artifact(model)
        if artifact is not None:
            return artifact.licence
        return "" if model.header is None else model.header.licence


def quantization_of(artifact: Artifact) -> str:
    """The format of its weights, which its name ends with."""
    return artifact.name.rpartition("-")[2].upper()


def _here_bytes(artifact: Artifact) -> int:
    n_bytes = 0
    for file in artifact.files:
        if is_present(artifact, file):
            n_bytes += file.size_bytes
            continue
        path = file_path(artifact, file)
        try:
            # A part may be complete and still be unchecked.
            n_bytes += min(part_bytes(path), file.size_bytes - 1)
        except OSError as error:
            raise StorageError(f"{path}: {error.strerror}", "SPECDESK_HOME names the directory") from error
    return n_bytes
