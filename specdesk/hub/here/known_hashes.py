"""What the sha256 of a file should be, where somebody has said so."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from specdesk.hub.hashing import is_sha256
from specdesk.hub.here.ollama import blob_sha256
from specdesk.hub.here.on_disk import file_path
from specdesk.hub.here.origin import origin_of
from specdesk.hub.manifest import Manifest

_CLOCK_S: Final = 1.0
"""By how much a file may be younger than what the hub's library noted of it, which it writes last."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What a file should be."""

    sha256: str
    source: str
    """Who says so."""
    mend: str
    """What to do where it is not."""
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
                again = "download it again" if pair is None else f"fetch it again: specdesk download {pair}"
                mend = f"delete it: specdesk models remove {path}, and {again}"
                return Expected(file.sha256, "models.toml", mend, file.size_bytes)
    return None


def _by_origin(path: Path) -> Expected | None:
    """What the hub called it when specdesk downloaded it."""
    origin = origin_of(path)
    if origin is None or not is_sha256(origin.version):
        return None
    again = origin.source + (f"@{origin.revision}" if origin.revision else "")
    mend = f"delete it: specdesk models remove {path}, and fetch it again: specdesk download {again}"
    return Expected(origin.version, "where it was downloaded from", mend)


def _by_blob(path: Path) -> Expected | None:
    """Ollama and the hub cache name what they keep by its hash; in the cache a model is a link to that."""
    # What a link leads to in the end: its own name is anybody's.
    with suppress(OSError, RuntimeError):
        real = path.resolve()
        ollama = blob_sha256(real.name)
        if ollama is not None:
            return Expected(ollama, "Ollama's name of it", "have Ollama fetch it again: ollama pull")
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
