"""The GGUF files of this disk that a chat could be had with, and those that it could not, with the reason."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from specdesk.core.interrupted import Interrupted
from specdesk.core.pairing import Model, Verdict, judge
from specdesk.errors import ModelError, StorageError
from specdesk.hub.gguf.header import GgufHeader, read_header, read_tokens
from specdesk.hub.gguf.header_cache import HeaderCache, State
from specdesk.hub.here.added import added_paths
from specdesk.hub.here.fitness import why_unfit
from specdesk.hub.here.model_files import Found, at, below, single
from specdesk.hub.stopping import Never, Stop
from specdesk.memory import ModelSize
from specdesk.model_name import model_name
from specdesk.paths import added_file, headers_file, models_dir
from specdesk.split_names import parts_beside, split_part

_LIKE: Final = "big-00001-of-00003.gguf"


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model on this disk; `path` is what is loaded."""

    path: Path
    size_bytes: int
    """All parts together."""
    header: GgufHeader | None
    """None where it could not be read."""
    problem: str = ""
    """Why it cannot be loaded; empty where nothing speaks against it."""
    parts: tuple[Path, ...] = ()
    """The further files of a split model that lie beside it."""
    called: str = ""
    """How the app that keeps it calls it, where its file's name says nothing."""
    added: Path | None = None
    """The file or folder it came with; None for one in the models folder, or given."""

    @property
    def files(self) -> tuple[Path, ...]:
        """All its files that are here, the one that is loaded first."""
        return self.path, *self.parts

    @property
    def name(self) -> str:
        """What its app calls it, or it itself, or its file."""
        return self.called or model_name("" if self.header is None else self.header.name, self.path.stem)

    @property
    def file_name(self) -> str:
        """The file's name, or what stands for it."""
        return self.called or self.path.name

    @property
    def memory(self) -> ModelSize:
        """What decides the memory it takes."""
        return ModelSize(self.size_bytes, 0, 0) if self.header is None else self.header.memory(self.size_bytes)


def verdict(target: LocalModel, draft: LocalModel) -> Verdict:
    """Whether they may speculate together, by what their files say; that a file cannot be read is a refusal too.

    The engine judges again, by the same rules, when it loads them.
    """
    try:
        return judge(_described(target), _described(draft))
    except ModelError as error:
        return Verdict(usable=False, why=error.message)


def _described(model: LocalModel) -> Model:
    if model.problem:
        raise ModelError(f"{model.file_name} cannot be loaded: {model.problem}")
    try:
        vocabulary, chat_template = read_tokens(model.path)
    except ModelError as error:
        raise ModelError(f"{model.file_name}: {error.message}") from error
    header = model.header
    if header is None:
        return Model(vocabulary, chat_template)
    return Model(
        vocabulary,
        chat_template,
        # As llama.cpp keeps such states: without the earlier ones. Loading tries it.
        most_cut=0 if header.recurrent else None,
        active=model.size_bytes * header.active_part,
        n_experts=header.n_experts,
    )


def library_here(files: Sequence[Path] = ()) -> Library:
    """The models folder, what was added, and further files. Raises StorageError where there is no home directory."""
    return Library(models_dir(), files, added=added_paths, headers=HeaderCache(headers_file()))


def look_at(path: Path) -> LocalModel:
    """The model that a file holds, or what is wrong with it."""
    return Library(path.parent).model(single(path))


class Library:
    """Everything below a folder, single files, and what was added."""

    def __init__(
        self,
        folder: Path,
        files: Sequence[Path] = (),
        *,
        added: Callable[[], Sequence[Path]] = tuple,
        headers: HeaderCache | None = None,
    ) -> None:
        """`added` is asked each time, and may raise StorageError.

        `headers` is what was read of files before; without it that is kept as long as this lives.
        """
        self._folder = folder
        self._files = tuple(files)
        self._added = added
        self._headers = headers or HeaderCache()

    def models(self, stop: Stop | None = None) -> Iterator[LocalModel]:
        """Each model once: single files, the folder, what was added; places that cannot be read too, with the reason.

        Reads the disk as it goes; raises Interrupted when stopped.
        """
        stop = stop or Never()
        seen: set[str] = set()
        try:
            for found, added in self._found():
                if stop.is_set():
                    raise Interrupted
                place = os.path.realpath(found.path)
                if place not in seen:
                    seen.add(place)
                    yield self.model(found, added)
        finally:
            self._headers.save()  # also what was read until it was stopped

    def model(self, found: Found, added: Path | None = None) -> LocalModel:
        """The model of one file, which came with `added`, or what is wrong with it."""
        known = partial(LocalModel, found.path, called=found.called, added=added)
        if found.problem:
            return known(0, None, found.problem)
        try:
            state = found.path.stat()
        except OSError as error:
            return known(0, None, f"it cannot be read: {error.strerror}")
        header, problem = None, ""
        try:
            header = self._header(found.path, (state.st_size, state.st_mtime_ns))
            problem = why_unfit(header)
        except ModelError as error:
            problem = error.message
        beside, incomplete = _parts(found.path, header)
        try:
            size_bytes = state.st_size + sum(part.stat().st_size for part in beside)
        except OSError as error:
            return known(state.st_size, header, f"a part of it cannot be read: {error.strerror}", beside)
        return known(size_bytes, header, incomplete or problem or self._damaged(beside), beside)

    def _damaged(self, beside: Sequence[Path]) -> str:
        """What is wrong with the further parts of a model, in words; empty where nothing is."""
        for part in beside:
            try:
                state = part.stat()
                self._header(part, (state.st_size, state.st_mtime_ns))
            except ModelError as error:
                return f"{part.name}: {error.message}"
            except OSError as error:
                return f"{part.name} cannot be read: {error.strerror}"
        return ""

    def _found(self) -> Iterator[tuple[Found, Path | None]]:
        for path in self._files:
            yield single(path), None
        for found in below(self._folder):
            yield found, None
        try:
            added = self._added()
        except StorageError as error:
            yield Found(added_file(), problem=str(error)), None
            return
        for place in added:
            for found in at(place):
                yield found, place

    def _header(self, path: Path, state: State) -> GgufHeader:
        header = self._headers.get(path, state)
        if header is None:
            header = read_header(path)
            self._headers.put(path, state, header)
        return header


def missing_parts(path: Path, header: GgufHeader | None) -> str:
    """How many parts of the model are here, and which is missing, in words; empty where none is."""
    return _parts(path, header)[1]


def _parts(path: Path, header: GgufHeader | None) -> tuple[tuple[Path, ...], str]:
    """The further parts of a model that lie beside it, and how many are missing, in words."""
    own = split_part(path.name)
    if own is None:
        if header is None or header.n_parts < 2:
            return (), ""
        return (), f"it is one of {header.n_parts} parts of a model, which llama.cpp finds by names like {_LIKE} only"
    # The header knows better; a part without its first is believed by its name.
    n_parts = header.n_parts if header is not None and own.number == 1 else own.count
    try:
        there = parts_beside(path)
    except OSError as error:
        return (), f"its parts cannot be looked for: {error.strerror}"
    missing = next((number for number in range(1, n_parts + 1) if number not in there), None)
    beside = tuple(part for number, part in there.items() if number != own.number)
    if missing is None:
        return beside, ""
    n_there = sum(number <= n_parts for number in there)
    return beside, f"incomplete: {n_there} of {n_parts} parts; {own.name(missing)} is missing"
