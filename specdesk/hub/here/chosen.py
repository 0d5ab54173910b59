"""Which models are to be loaded, and which were the last time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from specdesk.errors import StorageError, UsageError
from specdesk.hub.artifacts import Pair
from specdesk.hub.here.on_disk import file_path, has_pair
from specdesk.hub.manifest import Manifest
from specdesk.paths import chosen_file
from specdesk.whole_file import replace_whole


@dataclass(frozen=True, slots=True)
class Chosen:
    """The models to load; those of a recommended pair may still have to be fetched."""

    pair: str | None
    """The name of the recommended pair, if it is one."""
    target: Path
    draft: Path | None


def of_pair(pair: Pair) -> Chosen:
    """A recommended pair, here or not."""
    target, draft = (file_path(artifact, artifact.files[0]) for artifact in pair.artifacts)
    return Chosen(pair.name, target, draft)


def absent(chosen: Chosen, manifest: Manifest) -> Pair | None:
    """The pair that has to be fetched first, if one has to be. Raises StorageError where the disk does not say."""
    if chosen.pair is None:
        return None
    pair = manifest.pair(chosen.pair)
    return None if has_pair(pair) else pair


class _Kept(msgspec.Struct, forbid_unknown_fields=True):
    """The record on the disk: the name of a pair, or files."""

    pair: str | None = None
    target: str | None = None
    draft: str | None = None


def remember(chosen: Chosen) -> None:
    """Keep it for the next start. Raises StorageError where the disk refuses."""
    if chosen.pair is not None:
        kept = _Kept(chosen.pair)
    else:
        draft = None if chosen.draft is None else str(chosen.draft.absolute())
        kept = _Kept(None, str(chosen.target.absolute()), draft)
    path = chosen_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_whole(path, msgspec.json.encode(kept) + b"\n")
    except OSError as error:
        raise StorageError(
            f"this choice cannot be kept for the next start: {path}: {error.strerror}",
            "--pair or --target and --draft name the models then",
        ) from error


def remembered(manifest: Manifest) -> Chosen | None:
    """What was kept; None where nothing was. Its files may be gone. Raises UsageError where it is damaged."""
    path = chosen_file()
    try:
        # A pipe in its place would be waited for.
        if not path.is_file():
            return None
        kept = msgspec.json.decode(path.read_bytes(), type=_Kept)
        if kept.pair is not None:
            return of_pair(manifest.pair(kept.pair))
    except OSError as error:
        raise _damaged(path, str(error.strerror)) from error
    except (msgspec.MsgspecError, UsageError) as error:
        raise _damaged(path, str(error)) from error
    except RecursionError as error:
        raise _damaged(path, "nested too deeply") from error
    if kept.target is None:
        raise _damaged(path, "it names neither a pair nor a target")
    return Chosen(None, Path(kept.target), None if kept.draft is None else Path(kept.draft))


def _damaged(path: Path, what: str) -> UsageError:
    said = f"what models were chosen last time cannot be read: {path}: {what}"
    return UsageError(said, "the next choice replaces it")
