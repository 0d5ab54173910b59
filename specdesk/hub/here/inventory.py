"""The recommended pairs and the models of this disk: which are here, and which belong to which."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from specdesk.hub.artifacts import Artifact, Pair
from specdesk.hub.here.local_models import LocalModel
from specdesk.hub.here.on_disk import arrived_bytes, file_path, has_pair
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
    here = sum(arrived_bytes(artifact, file) for artifact in pair.artifacts for file in artifact.files)
    if has_pair(pair):
        return PairState(pair, Presence.HERE, here)
    return PairState(pair, Presence.PARTLY if here else Presence.ABSENT, here)


class Recommended:
    """What the manifest says of the files of this disk. Raises StorageError where there is no home directory."""

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self._artifacts = {
            file_path(artifact, file).absolute(): artifact for artifact in manifest.artifacts for file in artifact.files
        }

    def artifact(self, path: Path) -> Artifact | None:
        """The one whose file belongs there."""
        return self._artifacts.get(path.absolute())

    def pairs(self, path: Path) -> tuple[Pair, ...]:
        """The pairs that a file there would be loaded for."""
        artifact = self.artifact(path)
        return () if artifact is None else tuple(pair for pair in self.manifest.pairs if artifact in pair.artifacts)

    def licence(self, model: LocalModel) -> str:
        """The manifest's word for it, or else the file's own; empty where neither says."""
        artifact = self.artifact(model.path)
        if artifact is not None:
            return artifact.licence
        return "" if model.header is None else model.header.licence


def quantization_of(artifact: Artifact) -> str:
    """The format of its weights, which its name ends with."""
    return artifact.name.rpartition("-")[2].upper()
