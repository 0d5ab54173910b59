"""Brings to this disk what the user names: a GGUF file of the hub or at an address, with all files it is split into."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path

from specdesk.errors import NetworkError, StorageError
from specdesk.hub.download.bring import Wanted, bring, disk_errors
from specdesk.hub.download.report import Reporter
from specdesk.hub.hashing import sha256_of
from specdesk.hub.here.damage import damage_of
from specdesk.hub.here.origin import Origin, keep_origin, note_of, origin_of
from specdesk.hub.reference import HubReference, Reference, UrlReference
from specdesk.hub.sources.offline import is_offline
from specdesk.hub.sources.published import Published, PublishedFile
from specdesk.hub.sources.source import FileSource, SourceError
from specdesk.hub.stopping import Never, Stop, check

Notice = Callable[[str], None]


class State(StrEnum):
    """How what is on this disk compares with what is published."""

    ABSENT = "not here"
    SAME = "up to date"
    DAMAGED = "damaged"
    """It is not what was downloaded."""
    OTHER = "update available"
    UNKNOWN = "cannot be told"
    """The source names no version, and the size is the same."""


def is_here(reference: Reference) -> bool:
    """Whether all its files are on this disk, of the revision that is asked for. Asks no network.

    Raises StorageError where the disk does not say.
    """
    return all(_is_here(path, reference.revision) for path in reference.places())


def fetch_reference(reference: Reference, report: Reporter, *, update: bool = False, stop: Stop | None = None) -> Path:
    """Fetches what is missing of it and returns the file to load. With `update`, also what is published anew by now.

    What is here is replaced only with `update`, and only when its successor is complete. No network is asked where all
    is here and no `update` is wanted.
    Raises: NetworkError where it cannot be had; StorageError where the disk has not enough room, or refuses, or holds
    another version in its place, or what is not what was downloaded; Interrupted.
    """
    stop = stop or Never()
    if not update and is_here(reference):
        for path in reference.places():
            _refuse_damaged(path, reference, stop)
        return reference.places()[0]
    published = look_up(reference if update else _pinned(reference), report.notice, stop)
    published = replace(published, name=str(reference), revision=reference.revision)
    missing = []
    for one in published.files:
        state = compare(one, stop)
        if state is State.SAME:
            _remember(one, published)
        elif state is State.ABSENT or update:
            missing.append(one)
        elif state is State.DAMAGED:
            _refuse_damaged(one.path, reference, stop)
        elif state is State.OTHER:
            raise StorageError(f"{one.path} is here, but not as {reference} is now", "--update puts that in its place")
    if missing:
        if any(one.file.sha256 is None for one in missing):
            report.notice("no sha256 is published for it: only its length can be checked")
        _bring(published, missing, report, stop)
    return published.files[0].path


def look_up(reference: Reference, notice: Notice, stop: Stop) -> Published:
    """What is published under the reference now, which names a file.

    Raises: NetworkError, saying what to do; Interrupted.
    """
    _refuse_offline(reference)
    try:
        if isinstance(reference, HubReference):
            from specdesk.hub.sources.listing import look_into

            return look_into(reference, notice=notice, stop=stop).model(reference.path)
        return _at_urls(reference, notice, stop)
    except SourceError as error:
        raise NetworkError(str(error)) from error


def list_models(reference: HubReference, notice: Notice, stop: Stop) -> tuple[Published, ...]:
    """All models of a repository. Raises: as look_up, also where there are none."""
    from specdesk.hub.sources.listing import look_into

    _refuse_offline(reference)
    try:
        models = tuple(look_into(reference, notice=notice, stop=stop).models())
    except SourceError as error:
        raise NetworkError(str(error)) from error
    if not models:
        raise NetworkError(f"{reference} holds no GGUF file", "repositories with GGUF in their names mostly do")
    return models


def compare(one: PublishedFile, stop: Stop, *, hashing: bool = True) -> State:
    """How the file on this disk compares with what is published; reads all of it where nothing else tells.

    Raises: StorageError where the disk refuses; Interrupted.
    """
    with disk_errors(one.path):
        if not one.path.is_file():
            return State.ABSENT
        same_size = one.path.stat().st_size == one.file.size_bytes
        origin = origin_of(one.path)
        if origin is not None and origin.version and one.file.version:
            return State.SAME if same_size and origin.version == one.file.version else State.OTHER
        if same_size and one.file.sha256 is None:
            return State.UNKNOWN
        if same_size and (not hashing or _sha256_of(one.path, stop) == one.file.sha256):
            return State.SAME
        return State.DAMAGED if damage_of(one.path, stop, hashing=hashing) else State.OTHER


def compare_all(published: Published, stop: Stop, *, hashing: bool = True) -> State:
    """The same for all files of a model: what is most telling of any."""
    states = {compare(one, stop, hashing=hashing) for one in published.files}
    return next(
        state for state in (State.ABSENT, State.DAMAGED, State.OTHER, State.UNKNOWN, State.SAME) if state in states
    )


def _refuse_damaged(path: Path, reference: Reference, stop: Stop) -> None:
    """Raises StorageError for a file that is not what was downloaded, with what repairs it."""
    with disk_errors(path):
        damage = damage_of(path, stop)
    if damage:
        mend = f"specdesk download {reference} --update fetches it again"
        raise StorageError(f"{path} is not what was downloaded: {damage}", mend)


def _bring(published: Published, missing: Sequence[PublishedFile], report: Reporter, stop: Stop) -> None:
    bring(
        [
            Wanted(
                one.file,
                one.path,
                (_source(one, published, report.notice, stop),),
                partial(_has_come, one, stop),
                partial(_remember, one, published),
            )
            for one in missing
        ],
        report,
        stop,
        name=published.name,
        memory_bytes=None,
        licences=() if published.licence is None else (published.licence,),
    )


def _has_come(one: PublishedFile, stop: Stop) -> bool:
    return compare(one, stop) is State.SAME


def _source(one: PublishedFile, published: Published, notice: Notice, stop: Stop) -> FileSource:
    if published.commit is not None:
        from specdesk.hub.sources.hub import HubSource

        return HubSource(published.commit, notice=notice, stop=stop)
    from specdesk.hub.sources.url import UrlSource

    return UrlSource(UrlReference(one.source), notice=notice, stop=stop)


def _at_urls(reference: UrlReference, notice: Notice, stop: Stop) -> Published:
    from specdesk.hub.sources.url import UrlSource

    files = []
    for part, path in zip(reference.siblings(), reference.places(), strict=True):
        files.append(PublishedFile(UrlSource(part, notice=notice, stop=stop).look(), path, part.url))
    return Published(str(reference), None, None, None, tuple(files))


def _pinned(reference: Reference) -> Reference:
    """The version of the files that are here already, if some are: those of different ones do not fit together."""
    if isinstance(reference, UrlReference):
        return reference
    for path in reference.places():
        note = note_of(path) if _is_here(path, reference.revision) else None
        if note is not None and note.origin.commit is not None:
            return replace(reference, revision=note.origin.commit)
    return reference


def _is_here(path: Path, revision: str | None) -> bool:
    with disk_errors(path):
        if not path.is_file():
            return False
    if revision is None:
        return True
    note = note_of(path)
    return note is not None and revision in (note.origin.revision, note.origin.commit)


def _remember(one: PublishedFile, published: Published) -> None:
    source = str(UrlReference(one.source)) if published.commit is None else one.source
    commit = None if published.commit is None else published.commit.revision
    origin = Origin(source, one.file.version or "", published.revision, commit)
    if origin_of(one.path) != origin:
        with disk_errors(one.path):
            keep_origin(one.path, origin)


def _sha256_of(path: Path, stop: Stop) -> str:
    with path.open("rb") as file:
        return sha256_of(file, lambda _n: check(stop)).hexdigest()


def _refuse_offline(reference: Reference) -> None:
    if is_offline():
        raise NetworkError(f"HF_HUB_OFFLINE is set: nobody is asked for {reference}", "unset it to download")
