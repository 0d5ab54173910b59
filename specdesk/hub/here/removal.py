"""Takes downloaded models off this disk. Files elsewhere are never touched."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from specdesk.errors import StorageError, UsageError
from specdesk.hub.artifacts import Artifact, Pair
from specdesk.hub.here.local_models import LocalModel
from specdesk.hub.here.on_disk import file_path, has_pair
from specdesk.hub.here.origin import forget_origin
from specdesk.hub.here.other_apps import app_at
from specdesk.hub.here.parts import lock_of, part_of, pieces_of, place_of_part, version_of_part
from specdesk.hub.here.unfinished import Unfinished, unfinished_beside
from specdesk.hub.manifest import Manifest
from specdesk.paths import models_dir


@dataclass(frozen=True, slots=True)
class Removal:
    """What is to be deleted."""

    files: tuple[Path, ...]
    kept: tuple[tuple[Path, str], ...] = ()
    """What stays of a pair, each with the name of another pair that needs it."""

    @property
    def size_bytes(self) -> int:
        """What the disk gets back. Raises OSError."""
        return sum(path.lstat().st_size for path in self.files)


def of_pair(pair: Pair, manifest: Manifest, *, shared: bool) -> Removal:
    """Both models of a pair, and what has come of them; `shared` ones too, which another pair that is here needs.

    Raises StorageError where the disk does not say.
    """
    others = [other for other in manifest.pairs if other != pair and has_pair(other)]
    files: list[Path] = []
    kept: list[tuple[Path, str]] = []
    for artifact in pair.artifacts:
        here = _files_of(artifact)
        needs = next((other for other in others if artifact in other.artifacts), None)
        if needs is None or shared:
            files += here
        else:
            kept += [(path, needs.name) for path in here]
    return Removal(tuple(files), tuple(kept))


def of_model(model: LocalModel, unfinished: Sequence[Unfinished] = ()) -> Removal:
    """All files of a model in the models folder, and those of it that are `unfinished`.

    Raises UsageError for one elsewhere, with what can be done.
    """
    if model.added is not None:
        app = app_at(model.path.absolute())
        can = f"{app.named} can; " if app is not None else ""
        raise UsageError(
            f"{model.path} is not specdesk's to delete",
            f"{can}specdesk models remove {model.added} forgets what was added",
        )
    if models_dir().absolute() not in model.path.absolute().parents:
        raise UsageError(f"{model.path} does not lie in the models folder", f"that is {models_dir()}")
    return Removal((*model.files, *(one.part for one in unfinished_beside(unfinished, model.path))))


def of_unfinished(unfinished: Sequence[Unfinished]) -> Removal:
    """What has come of them."""
    return Removal(tuple(one.part for one in unfinished))


def remove(removal: Removal) -> None:
    """Delete them, and folders that are empty then. What is gone already is none of its business.

    Raises: StorageError where a file is being downloaded, or the disk refuses; files before it are gone then.
    """
    for path in removal.files:
        place = place_of_part(path) or path
        lock = lock_of(place)
        try:
            with FileLock(lock, blocking=False):  # which is held while it is downloaded
                path.unlink(missing_ok=True)
                if path == place:
                    forget_origin(path)
                else:
                    known, pieces = pieces_of(place)
                    for beside in (version_of_part(place), known):
                        beside.unlink(missing_ok=True)
                    shutil.rmtree(pieces, ignore_errors=True)
                lock.unlink(missing_ok=True)
        except Timeout:
            raise StorageError(f"{path.name} is being downloaded now", "stop that first") from None
        except OSError as error:
            raise StorageError(f"{path} cannot be deleted: {error.strerror}") from error
    _tidy(removal.files)


def _files_of(artifact: Artifact) -> Sequence[Path]:
    places = [file_path(artifact, file) for file in artifact.files]
    return [path for place in places for path in (place, part_of(place)) if path.is_symlink() or path.exists()]


def _tidy(files: Sequence[Path]) -> None:
    top = models_dir().absolute()
    for path in files:
        with suppress(OSError):  # not empty, or not ours to delete: it can stay
            for folder in path.absolute().parents:
                if top not in folder.parents:
                    break
                folder.rmdir()
