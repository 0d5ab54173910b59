"""What Ollama calls the files it keeps: they are named by their hashes, and manifests say which model is which file."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

_BLOB: Final = re.compile(r"sha256-(?P<sha256>[0-9a-f]{64})")
_REGISTRY: Final = "registry.ollama.ai"
_LIBRARY: Final = "library"
_ROLES: Final = {
    "application/vnd.ollama.image.model": "",
    "application/vnd.ollama.image.projector": " (projector)",
    "application/vnd.ollama.image.adapter": " (adapter)",
}
"""The layers of a manifest that are GGUF files, and what is said of them behind the name."""
_DEPTH: Final = 4
"""A manifest lies at HOST/OWNER/MODEL/TAG."""
_MOST_BYTES: Final = 2**20


class _Layer(msgspec.Struct):
    mediaType: str = ""  # noqa: N815 — as Ollama writes it
    digest: str = ""


class _Manifest(msgspec.Struct):
    layers: list[_Layer] = []


def blob_sha256(name: str) -> str | None:
    """The hash that a blob's name tells; None where it is not the name of one."""
    match = _BLOB.fullmatch(name)
    return None if match is None else match["sha256"]


def names_of_blobs(blobs: Path) -> Mapping[str, str]:
    """What the models in a folder of blobs are called, by the names of their files: `qwen2.5-coder:1.5b`.

    Several names of one file stand in one text. What cannot be read names nothing.
    """
    names: defaultdict[str, list[str]] = defaultdict(list)
    root = blobs.parent / "manifests"
    for path in _files(root):
        parts = path.relative_to(root).parts
        if len(parts) != _DEPTH:
            continue
        for layer in _layers(path):
            role = _ROLES.get(layer.mediaType)
            if role is not None:
                names[layer.digest.replace(":", "-", 1)].append(_short(*parts) + role)
    return {blob: ", ".join(known) for blob, known in names.items()}


def _short(host: str, owner: str, model: str, tag: str) -> str:
    """As `ollama list` prints it."""
    if host != _REGISTRY:
        return f"{host}/{owner}/{model}:{tag}"
    return f"{model}:{tag}" if owner == _LIBRARY else f"{owner}/{model}:{tag}"


def _files(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders.sort()
        yield from (Path(folder, name) for name in sorted(names))


def _layers(path: Path) -> list[_Layer]:
    with suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        if path.is_file() and path.stat().st_size <= _MOST_BYTES:
            return msgspec.json.decode(path.read_bytes(), type=_Manifest).layers
    return []
