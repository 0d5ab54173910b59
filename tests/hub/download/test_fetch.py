"""What fetch promises whatever the source is, tried with sources that do as told."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import pytest
from filelock import FileLock

from specdesk.errors import NetworkError, StorageError
from specdesk.hub.artifacts import Artifact, ModelFile
from specdesk.hub.download import landing
from specdesk.hub.download.disk_room import HEADROOM_BYTES
from specdesk.hub.download.fetch import SourcesOf, fetch, fetch_pair
from specdesk.hub.here import on_disk
from specdesk.hub.sources.source import FileSource, SourceUnreachableError
from tests.hub.samples import (
    CONTENT,
    GivenSource,
    Recorder,
    artifact_of,
    corrupted,
    dead_source,
    pair_of,
)

GOOD = [CONTENT[:5000], CONTENT[5000:]]


def only(*sources: FileSource) -> SourcesOf:
    def sources_of(artifact: Artifact) -> Sequence[FileSource]:
        return sources

    return sources_of


def place_of(artifact: Artifact) -> Path:
    return on_disk.file_path(artifact, artifact.files[0])


def models_in(home: Path) -> list[str]:
    """Every file below the models directory but locks."""
    found = (path for path in (home / "models").rglob("*") if path.is_file())
    return sorted(path.name for path in found if path.suffix != ".lock")


def test_a_pair_is_announced_fetched_and_reported(home: Path) -> None:
    target, draft = artifact_of(name="target", licence="MIT"), artifact_of(name="draft", licence="Other")
    report = Recorder()
    paths = fetch_pair(pair_of(target, draft), report, sources_of=only(GivenSource(GOOD)))
    assert paths.target.read_bytes() == paths.draft.read_bytes() == CONTENT
    assert [plan.name for plan in report.plans] == ["toy-pair"]
    assert report.plans[0].size_bytes == 2 * len(CONTENT)
    assert report.plans[0].licences == ("MIT", "Other")
    assert report.plans[0].destination == home / "models"
    assert report.started == [("target.gguf", len(CONTENT)), ("draft.gguf", len(CONTENT))]
    assert sum(report.arrived) == 2 * len(CONTENT)
    assert (report.finished, report.notices) == (2, [])
    assert models_in(home) == ["draft.gguf", "target.gguf"]


def test_what_is_here_asks_no_source_and_says_nothing() -> None:
    artifact, report = artifact_of(), Recorder()
    fetch(artifact, Recorder(), sources_of=only(GivenSource(GOOD)))

    def no_sources(artifact: Artifact) -> Sequence[FileSource]:
        pytest.fail("a source was looked for")

    fetch(artifact, report, sources_of=no_sources)
    assert report == Recorder()


def test_a_file_of_the_wrong_size_is_replaced() -> None:
    artifact = artifact_of()
    place_of(artifact).parent.mkdir(parents=True)
    place_of(artifact).write_bytes(b"half")
    fetch(artifact, Recorder(), sources_of=only(GivenSource(GOOD)))
    assert place_of(artifact).read_bytes() == CONTENT


def test_one_notice_per_source_left() -> None:
    report = Recorder()
    sources = only(dead_source("first"), dead_source("second"), GivenSource(GOOD, "third"))
    fetch(artifact_of(), report, sources_of=sources)
    assert report.notices == ["first is down; trying second", "second is down; trying third"]


def test_when_all_fail_each_is_named_with_its_reason(home: Path) -> None:
    report = Recorder()
    with pytest.raises(NetworkError) as caught:
        fetch(artifact_of(), report, sources_of=only(dead_source("first"), dead_source("second")))
    assert str(caught.value) == "toy.gguf could not be fetched: first is down; second is down"
    assert report.notices == ["first is down; trying second"]
    assert models_in(home) == []


@pytest.mark.parametrize(
    ("chunks", "complaint"),
    [
        ([corrupted(CONTENT)], "toy.gguf from given was deleted: its sha256 is "),
        ([CONTENT, b"!"], f"given sent more than the {len(CONTENT)} bytes of toy.gguf"),
        ([], f"given sent 0 of the {len(CONTENT)} bytes"),
    ],
    ids=["corrupted", "long", "empty"],
)
def test_wrong_bytes_are_deleted_and_named_and_the_next_source_is_used(
    home: Path, chunks: list[bytes], complaint: str
) -> None:
    with pytest.raises(NetworkError, match=complaint):
        fetch(artifact_of(), Recorder(), sources_of=only(GivenSource(chunks)))
    assert models_in(home) == []

    report = Recorder()
    fetch(artifact_of(), report, sources_of=only(GivenSource(chunks), GivenSource(GOOD, "other")))
    assert report.notices[0].startswith(complaint)
    assert report.notices[0].endswith("; trying other")
    assert models_in(home) == ["toy.gguf"]


def test_a_body_that_never_ends_is_cut_off() -> None:
    class Endless:
        name = "endless"
        sent = 0
        closed = False

        def chunks(self, file: ModelFile, start: int) -> Generator[bytes]:
            try:
                while True:
                    self.sent += 1000
                    yield bytes(1000)
            finally:
                self.closed = True

    source = Endless()
    with pytest.raises(NetworkError, match="sent more than"):
        fetch(artifact_of(), Recorder(), sources_of=only(source))
    assert source.closed
    assert source.sent <= len(CONTENT) + 1000


def test_nothing_has_the_final_name_until_it_is_verified() -> None:
    artifact = artifact_of()
    seen: list[tuple[bool, bool]] = []

    class Watching(Recorder):
        def advance(self, n_bytes: int) -> None:
            place = place_of(artifact)
            seen.append((place.exists(), place.with_name("toy.gguf.part").exists()))

    fetch(artifact, Watching(), sources_of=only(GivenSource(GOOD)))
    assert seen == [(False, True), (False, True)]


def test_a_link_in_the_place_of_the_part_is_not_followed(home: Path) -> None:
    artifact = artifact_of()
    place = place_of(artifact)
    place.parent.mkdir(parents=True)
    elsewhere = home / "elsewhere"
    elsewhere.write_bytes(b"precious")
    place.with_name("toy.gguf.part").symlink_to(elsewhere)
    fetch(artifact, Recorder(), sources_of=only(GivenSource(GOOD)))
    assert elsewhere.read_bytes() == b"precious"
    assert not place.is_symlink()
    assert models_in(home) == ["toy.gguf"]


@pytest.mark.parametrize("linked", ["owner", "owner/toy"])
def test_a_link_that_leads_out_of_the_models_folder_is_refused(home: Path, tmp_path: Path, linked: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    link = home / "models" / linked
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere)
    source = GivenSource(GOOD)
    with pytest.raises(StorageError, match=r"leads out of .*models, to .*elsewhere"):
        fetch(artifact_of(), Recorder(), sources_of=only(source))
    assert (source.asked, list(elsewhere.iterdir())) == (0, [])


def test_the_models_folder_itself_may_lie_elsewhere(home: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "big disk"
    elsewhere.mkdir()
    home.mkdir()
    (home / "models").symlink_to(elsewhere)
    fetch(artifact_of(), Recorder(), sources_of=only(GivenSource(GOOD)))
    assert (elsewhere / "owner" / "toy" / "toy.gguf").read_bytes() == CONTENT


class Full:
    """A file on a disk with room for so many bytes."""

    def __init__(self, file: IO[bytes], room: int) -> None:
        self._file = file
        self._room = room

    def write(self, data: bytes) -> int:
        if self._file.tell() + len(data) > self._room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self._file.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def test_a_disk_that_fills_up_keeps_what_came_and_names_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = landing._opened

    @contextmanager
    def on_a_small_disk(path: Path) -> Iterator[Any]:
        with opened(path) as out:
            yield Full(out, 6000)

    monkeypatch.setattr(landing, "_opened", on_a_small_disk)
    with pytest.raises(StorageError, match=r"No space left on device \(make room"):
        fetch(artifact_of(), Recorder(), sources_of=only(GivenSource(GOOD)))
    monkeypatch.setattr(landing, "_opened", opened)
    assert models_in(home) == ["toy.gguf.part"]
    source = GivenSource(GOOD)
    fetch(artifact_of(), Recorder(), sources_of=only(source))
    assert (source.starts, models_in(home)) == ([5000], ["toy.gguf"])


class Usage(NamedTuple):
    total: int
    used: int
    free: int


def test_too_little_room_for_the_pair_is_refused_before_the_first_byte(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = pair_of(artifact_of(name="target"), artifact_of(name="draft"))
    free = HEADROOM_BYTES + pair.size_bytes - 1
    monkeypatch.setattr("shutil.disk_usage", lambda path: Usage(free, 0, free))
    source = GivenSource(GOOD)
    with pytest.raises(StorageError, match=r"268.5 MB needed in .*models, 268.5 MB free \(make room"):
        fetch_pair(pair, Recorder(), sources_of=only(source))
    assert source.asked == 0
    assert not home.exists()
    monkeypatch.setattr("shutil.disk_usage", lambda path: Usage(free + 1, 0, free + 1))
    fetch_pair(pair, Recorder(), sources_of=only(source))


@pytest.mark.parametrize("kept", [5000, len(CONTENT), len(CONTENT) + 1000], ids=["half", "all", "too much"])
def test_room_that_parts_take_already_is_not_needed_again(monkeypatch: pytest.MonkeyPatch, kept: int) -> None:
    """Nor does a part that is too long make room for another file."""
    pair = pair_of(artifact_of(name="target"), artifact_of(name="draft"))
    part = on_disk.file_path(pair.target, pair.target.files[0]).with_name("target.gguf.part")
    part.parent.mkdir(parents=True)
    part.write_bytes((CONTENT + bytes(1000))[:kept])
    needed = HEADROOM_BYTES + max(0, len(CONTENT) - kept) + len(CONTENT)
    source = GivenSource(GOOD)
    monkeypatch.setattr("shutil.disk_usage", lambda path: Usage(needed, 0, needed - 1))
    with pytest.raises(StorageError, match="needed in"):
        fetch_pair(pair, Recorder(), sources_of=only(source))
    assert source.asked == 0
    monkeypatch.setattr("shutil.disk_usage", lambda path: Usage(needed, 0, needed))
    fetch_pair(pair, Recorder(), sources_of=only(source))


def test_a_place_that_cannot_be_written_is_a_storage_error(home: Path) -> None:
    home.mkdir()
    (home / "models").write_text("in the way")
    with pytest.raises(StorageError, match="models"):
        fetch(artifact_of(), Recorder(), sources_of=only(GivenSource(GOOD)))


def test_the_second_of_two_waits_and_uses_what_the_first_fetched() -> None:
    """The first is played by the test, which holds the lock until the second has said that it waits."""
    artifact = artifact_of()
    place = place_of(artifact)
    place.parent.mkdir(parents=True)
    waiting = threading.Event()

    class Second(Recorder):
        def notice(self, text: str) -> None:
            super().notice(text)
            waiting.set()

    source, report = GivenSource(GOOD), Second()
    second = threading.Thread(target=fetch, args=(artifact, report), kwargs={"sources_of": only(source)})
    with FileLock(place.with_name(".toy.gguf.lock")):
        second.start()
        assert waiting.wait(timeout=20)
        place.write_bytes(CONTENT)
    second.join(timeout=20)
    assert not second.is_alive()
    assert report.notices == ["another specdesk is fetching toy.gguf; waiting for it"]
    assert source.asked == 0


def test_a_source_that_cannot_be_reached_is_asked_once_a_run(home: Path) -> None:
    asked: list[str] = []

    class Unreachable:
        name = "the far one"

        def chunks(self, file: ModelFile, start: int) -> Generator[bytes]:
            asked.append(file.path)
            if asked:
                raise SourceUnreachableError("the far one did not answer")
            yield b""

    report = Recorder()
    pair = pair_of(artifact_of(name="target"), artifact_of(name="draft"))
    fetch_pair(pair, report, sources_of=only(Unreachable(), GivenSource(GOOD)))
    assert asked == ["target.gguf"]
    assert len([notice for notice in report.notices if "far one" in notice]) == 1


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_file_in_its_place_is_said_before_anything_is_fetched(kind: str) -> None:
    artifact = artifact_of()
    place = on_disk.file_path(artifact, artifact.files[0])
    place.parent.mkdir(parents=True)
    place.mkdir() if kind == "folder" else os.mkfifo(place)
    source = GivenSource([CONTENT])
    with pytest.raises(StorageError, match=f"{place} is there, and is no file .*take it away"):
        fetch(artifact, Recorder(), sources_of=lambda _artifact: (source,))
    assert source.asked == 0


@pytest.mark.parametrize("name", ["toy.gguf.part", ".toy.gguf.lock"])
def test_what_stands_in_the_way_is_named(name: str) -> None:
    artifact = artifact_of()
    beside = on_disk.file_path(artifact, artifact.files[0]).with_name(name)
    beside.mkdir(parents=True)
    with pytest.raises(StorageError, match=f"{beside}: Is a directory"):
        fetch(artifact, Recorder(), sources_of=lambda _artifact: (GivenSource([CONTENT]),))


def test_who_waits_goes_on_where_the_first_one_took_its_empty_folder_away(home: Path) -> None:
    artifact, source = artifact_of(), GivenSource(GOOD)
    place = on_disk.file_path(artifact, artifact.files[0])
    place.parent.mkdir(parents=True)
    lock = FileLock(place.with_name(".toy.gguf.lock"))
    lock.acquire()

    class Failing(Recorder):
        """Plays the first one, which fails as soon as the second has said that it waits."""

        def notice(self, text: str) -> None:
            if "waiting" in text:
                Path(lock.lock_file).unlink()
                lock.release()
                place.parent.rmdir()

    fetch(artifact, Failing(), sources_of=only(source))
    assert models_in(home) == ["toy.gguf"]
