"""What the sha256 of a file should be, where somebody has said so."""

from __future__ import annotations

import shlex
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from specdesk.hub.hashing import is_sha256
from specdesk.hub.here.ollama import blob_sha256, names_of_blobs
from specdesk.hub.here.on_disk import file_path
from specdesk.hub.here.origin import note_of
from specdesk.hub.manifest import Manifest

_CLOCK_S: Final = 1.0
"""By how much a file may be younger than what the hub's library noted of it, which it writes last."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What a file should be."""

    sha256: str | None
    """None where only the length is known."""
    source: str
    """Who says so."""
    mend: str
    """What to do where it is not, in one line."""
    size_bytes: int | None = None
    """None where only the hash is known."""


def expected_of(path: Path, manifest: Manifest) -> Expected | None:
    """What is known of the file: by the manifest, its download, its name among blobs, notes of the hub's library."""
    return _by_manifest(path, manifest) or _by_origin(path) or _by_blob(path) or _by_note(path)


def _by_manifest(path: Path, manifest: Manifest) -> Expected | None:
    for artifact in manifest.artifacts:
        for file in artifact.files:
            if file.sha256 is not None and path.absolute() == file_path(artifact, file).absolute():
                pair = next((pair.name for pair in manifest.pairs if artifact in pair.artifacts), None)
                delete = f"specdesk models remove {shlex.quote(str(path))}"
                mend = f"{delete}, and download it again" if pair is None else f"{delete} && specdesk download {pair}"
                return Expected(file.sha256, "models.toml", mend, file.size_bytes)
    return None


def _by_origin(path: Path) -> Expected | None:
    """What the source called it when specdesk downloaded it, and how long it was; whatever became of it since."""
    note = note_of(path)
    if note is None:
        return None
    version = note.origin.version
    sha256 = version if is_sha256(version) else None
    if sha256 is None and note.size_bytes is None:
        return None
    mend = f"specdesk download {shlex.quote(note.origin.again)} --update"
    return Expected(sha256, "where it was downloaded from", mend, note.size_bytes)


def _by_blob(path: Path) -> Expected | None:
    """Ollama and the hub cache name what they keep by its hash; in the cache a model is a link to that."""
    # What a link leads to in the end: its own name is anybody's.
    with suppress(OSError, RuntimeError):
        real = path.resolve()
        ollama = blob_sha256(real.name)
        if ollama is not None:
            # It does not look again at what is there.
            name = names_of_blobs(real.parent).get(real.name, "").split(", ")[0]
            pull = f"rm {shlex.quote(str(real))}, and have Ollama fetch it again with: ollama pull {name}".rstrip()
            return Expected(ollama, "Ollama's name of it", pull)
        if real.parent.name == "blobs" and is_sha256(real.name):
            return Expected(real.name, "its name in the Hugging Face cache", f"delete {real} and download it again")
    return None


def _by_note(path: Path) -> Expected | None:
    """Into a folder of the user's the hub's library downloads with a note beside it: commit, hash, time."""
    for folder in path.absolute().parents:
        note = folder / ".cache" / "huggingface" / "download" / f"{path.absolute().relative_to(folder)}.metadata"
        with suppress(OSError, ValueError):
            _commit, etag, noted = note.read_text(encoding="utf-8").split()
            # A file that was changed since is another one, by whoever wanted it so.
            if is_sha256(etag) and path.stat().st_mtime <= float(noted) + _CLOCK_S:
                return Expected(etag, "the note of its download", "download it again")
    return None
