"""What is on this disk: where the files of an artifact lie, and which are missing. Never asks the network."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from specdesk import paths
from specdesk.errors import ModelError, StorageError
from specdesk.hub.artifacts import Artifact, ModelFile, Pair
from specdesk.hub.here.parts import part_bytes


@dataclass(frozen=True, slots=True)
class PairPaths:
    """The two files to load; further pieces of a split model lie beside its first."""

    target: Path
    draft: Path


def file_path(artifact: Artifact, file: ModelFile) -> Path:
    """Where a file belongs: OWNER/REPOSITORY/FILE in the models directory."""
    return paths.models_dir() / artifact.repo / file.path


def is_present(artifact: Artifact, file: ModelFile) -> bool:
    """Whether the file lies at its place in its full size. Its hash was checked before it got that name.

    Raises: StorageError where the disk does not say.
    """
    path = file_path(artifact, file)
    try:
        return path.stat().st_size == file.size_bytes
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise _refused(path, error) from error


def arrived_bytes(artifact: Artifact, file: ModelFile) -> int:
    """How much of the file is here: all of it, or what has come; that may be all too, and still be unchecked.

    Raises StorageError where the disk does not say.
    """
    if is_present(artifact, file):
        return file.size_bytes
    path = file_path(artifact, file)
    try:
        return min(part_bytes(path), file.size_bytes)
    except OSError as error:
        raise _refused(path, error) from error


def refuse_outside(path: Path) -> None:
    """Raises StorageError where a link in its place leads what is to be written there out of the models directory."""
    folder, place = (Path(os.path.realpath(given)) for given in (paths.models_dir(), path.parent))
    if not place.is_relative_to(folder):
        raise StorageError(
            f"{path.parent} leads out of {paths.models_dir()}, to {place}",
            "take the link away; SPECDESK_HOME names the directory where all is put",
        )


def refuse_what_is_no_file(path: Path) -> None:
    """Raises StorageError where a folder, a pipe or the like stands in the place of a file. Raises OSError too."""
    if path.exists() and not path.is_file():
        raise StorageError(f"{path} is there, and is no file", "take it away")


def missing_files(artifact: Artifact) -> tuple[ModelFile, ...]:
    """The files of the artifact that are not here."""
    return tuple(file for file in artifact.files if not is_present(artifact, file))


def has_pair(pair: Pair) -> bool:
    """Whether both models are complete here."""
    return not any(missing_files(artifact) for artifact in pair.artifacts)


def missing_of_pair(pair: Pair) -> list[tuple[Path, ModelFile]]:
    """Where each file of the pair belongs that is not here."""
    return [(file_path(artifact, file), file) for artifact in pair.artifacts for file in missing_files(artifact)]


def pair_paths(pair: Pair) -> PairPaths:
    """What to load for the pair.

    Raises: ModelError if it is not complete on this disk, naming the command that fetches it; StorageError where the
    disk does not say.
    """
    if missing := missing_of_pair(pair):
        names = " and ".join(file.path for _, file in missing)
        raise ModelError(
            f"the pair {pair.name} is not complete in {paths.models_dir()}: {names} missing",
            f"fetch it with: specdesk download {pair.name}",
        )
    return PairPaths(
        target=file_path(pair.target, pair.target.files[0]),
        draft=file_path(pair.draft, pair.draft.files[0]),
    )


def _refused(path: Path, error: OSError) -> StorageError:
    return StorageError(f"{path}: {error.strerror}", "SPECDESK_HOME names the directory")
