"""The GGUF files of this disk that a chat could be had with, and those that it could not, with the reason."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from specdesk.core.interrupted import Interrupted
from specdesk.core.vocabularies import first_difference
from specdesk.errors import ModelError
from specdesk.hub.gguf_header import GgufHeader, read_header, read_vocabulary
from specdesk.hub.stopping import Never, Stop

_PART: Final = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf", re.IGNORECASE)
_NOT_FOR_TEXT: Final = {
    "clip": "it is the eyes of another model (a projector), no language model",
    "bert": "it is an encoder, which writes no text",
    "jina-bert-v2": "it is an encoder, which writes no text",
    "nomic-bert": "it is an encoder, which writes no text",
    "t5encoder": "it is an encoder, which writes no text",
}
"""Architectures that cannot chat."""


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model on this disk; `path` is what is loaded, further parts of a split one lie beside it."""

    path: Path
    size_bytes: int
    """All parts together."""
    header: GgufHeader | None
    """None where it could not be read."""
    problem: str = ""
    """Why it cannot be loaded; empty where nothing speaks against it."""

    @property
    def name(self) -> str:
        """The model's own name, or its file's."""
        return (self.header.name if self.header is not None else "") or self.path.stem

    def memory_bytes(self, n_ctx: int) -> int:
        """Weights and an f16 cache of so many tokens, without compute buffers; an estimate."""
        return self.size_bytes + (0 if self.header is None else n_ctx * self.header.kv_bytes_per_token)


def difference(target: LocalModel, draft: LocalModel) -> str:
    """The first token that is not the same in both, in words; or why that cannot be told."""
    try:
        found = first_difference(read_vocabulary(target.path), read_vocabulary(draft.path))
    except ModelError as error:
        return error.message
    return found or "no token differs; one of the files has changed"


class Library:
    """Everything below a folder, and single files. What was read of a file is kept as long as it does not change."""

    def __init__(self, folder: Path, files: Sequence[Path] = ()) -> None:
        self._folder = folder
        self._files = tuple(files)
        self._known: dict[Path, tuple[tuple[int, int], LocalModel]] = {}

    def models(self, stop: Stop | None = None) -> Iterator[LocalModel]:
        """Each model once, the single files first. Reads the disk as it goes; raises Interrupted when stopped."""
        stop = stop or Never()
        seen: set[Path] = set()
        for path in (*self._files, *self._below()):
            if stop.is_set():
                raise Interrupted
            place = Path(os.path.realpath(path))
            if place not in seen and not _is_later_part(path):
                seen.add(place)
                yield self._model(path)

    def _below(self) -> Iterator[Path]:
        for folder, folders, names in os.walk(self._folder):
            folders.sort()
            yield from (Path(folder, name) for name in sorted(names) if name.lower().endswith(".gguf"))

    def _model(self, path: Path) -> LocalModel:
        try:
            found = path.stat()
        except OSError as error:
            return LocalModel(path, 0, None, f"it cannot be read: {error.strerror}")
        state = (found.st_size, found.st_mtime_ns)
        kept = self._known.get(path)
        if kept is None or kept[0] != state or kept[1].problem:
            kept = self._known[path] = (state, _looked_at(path, found.st_size))
        return kept[1]


def _looked_at(path: Path, size_bytes: int) -> LocalModel:
    try:
        header = read_header(path)
        size_bytes += sum(part.stat().st_size for part in _further_parts(path, header.n_parts))
    except ModelError as error:
        return LocalModel(path, size_bytes, None, error.message)
    except OSError as error:
        return LocalModel(path, size_bytes, None, f"a part of it is missing: {Path(str(error.filename)).name}")
    return LocalModel(path, size_bytes, header, _unfit(header))


def _unfit(header: GgufHeader) -> str:
    if header.purpose != "model":
        return f"it is no language model but what goes with one ({header.purpose})"
    if header.vocabulary is None:
        return _NOT_FOR_TEXT.get(header.architecture, "it has no vocabulary")
    return _NOT_FOR_TEXT.get(header.architecture, "")


def _is_later_part(path: Path) -> bool:
    """Whether it belongs to a model that is loaded through another file. Without that file it stands for itself."""
    match = _PART.fullmatch(path.name)
    if match is None or int(match["number"]) == 1:
        return False
    return path.with_name(f"{match['stem']}-00001-of-{match['count']}.gguf").exists()


def _further_parts(path: Path, n_parts: int) -> Iterator[Path]:
    match = _PART.fullmatch(path.name)
    if match is None:
        return
    for number in range(2, n_parts + 1):
        yield path.with_name(f"{match['stem']}-{number:05}-of-{match['count']}.gguf")
