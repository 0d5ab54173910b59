"""A connection that is lost is made again within the same run, and the transfer goes on where it was."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Sequence

import pytest

from specdesk.errors import NetworkError
from specdesk.hub.download.fetch import fetch
from specdesk.hub.here import on_disk
from specdesk.hub.sources.hub import HubSource
from specdesk.hub.sources.reconnecting import LONGEST_WAIT_S, reconnecting
from specdesk.hub.sources.source import BrokenOffError, BusyError, SourceError, SourceUnreachableError
from specdesk.hub.stopping import Never
from tests.hub.samples import CONTENT, Recorder, artifact_of, corrupted
from tests.hub.server import HubServer

FILE = "owner/toy/toy.gguf"
SIZE = len(CONTENT)
MOST = SIZE * 95 // 100


def from_hub(hub: HubServer, *, stall_s: float = 10.0, pauses_s: Sequence[float] = (0, 0)) -> Recorder:
    report = Recorder()
    source = HubSource(artifact_of(), endpoint=hub.url, stall_s=stall_s, pauses_s=pauses_s, notice=report.notice)
    fetch(artifact_of(), report, sources_of=lambda artifact: (source,))
    return report


def fetched() -> bytes:
    artifact = artifact_of()
    return on_disk.file_path(artifact, artifact.files[0]).read_bytes()


def ranges(hub: HubServer) -> list[str | None]:
    return [seen.range for seen in hub.seen if seen.method == "GET"]


def test_a_lost_connection_is_made_again(hub: HubServer) -> None:
    hub.files[FILE] = CONTENT
    hub.breaks = [6000, 1000]
    report = from_hub(hub)
    assert fetched() == CONTENT
    assert ranges(hub) == [None, "bytes=6000-", "bytes=7000-"]
    assert hub.body_bytes == SIZE
    assert [notice.rpartition("; ")[2] for notice in report.notices] == [
        "going on from 6.0 kB",
        "going on from 7.0 kB",
    ]
    assert (len(report.started), report.kept) == (1, []), "to who watches it is one try"


def test_a_stall_near_the_end_is_cured(hub: HubServer) -> None:
    """The connection stays open at 95% and nothing comes: seen, and gone on with, by itself."""
    hub.files[FILE] = CONTENT
    hub.breaks, hub.stalls = [MOST], True
    report = from_hub(hub, stall_s=0.1)
    assert fetched() == CONTENT
    assert ranges(hub) == [None, f"bytes={MOST}-"]
    assert report.notices == [f"{hub.host} sent nothing for 0.1 s; going on from 9.7 kB"]


def test_a_stall_is_noticed_within_half_a_minute() -> None:
    from specdesk.hub.sources.http_body import STALL_S

    assert STALL_S < 30


def test_connections_that_bring_nothing_are_given_up_after_a_few(hub: HubServer) -> None:
    hub.files[FILE] = CONTENT
    hub.sent_bytes = 0
    hub.breaks = [5000]
    with pytest.raises(NetworkError, match="broke off"):
        from_hub(hub)
    assert ranges(hub) == [None, *["bytes=5000-"] * 2]


def test_what_is_gone_on_with_must_be_the_same_version(hub: HubServer) -> None:
    """The body's own ETag is asked with: a server that has another file by now sends it whole, which is no rest."""
    hub.files[FILE] = CONTENT
    hub.breaks = [5000]

    def swap(text: str) -> None:
        hub.files[FILE], hub.etag = corrupted(CONTENT), '"other"'

    source = HubSource(artifact_of(), endpoint=hub.url, pauses_s=(0,), notice=swap)
    with pytest.raises(NetworkError, match=f"toy.gguf has changed at {hub.host} while it was fetched"):
        fetch(artifact_of(), Recorder(), sources_of=lambda artifact: (source,))
    assert [seen.if_range for seen in hub.seen if seen.method == "GET"] == [None, '"etag"']


def test_a_weak_etag_is_not_asked_with(hub: HubServer) -> None:
    hub.files[FILE] = CONTENT
    hub.breaks, hub.etag = [5000], 'W/"etag"'
    from_hub(hub)
    assert fetched() == CONTENT
    assert [seen.if_range for seen in hub.seen] == [None] * 4


def test_a_file_that_is_another_one_is_refused_before_the_first_byte(hub: HubServer) -> None:
    """The hub names a file by its sha256: a new upload of the same size is seen without fetching it."""
    hub.files[FILE] = corrupted(CONTENT)
    sha256 = hashlib.sha256(corrupted(CONTENT)).hexdigest()
    hub.linked_etag = f'"{sha256}"'
    with pytest.raises(NetworkError, match=f"{hub.host} has another toy.gguf now, with sha256 {sha256}"):
        from_hub(hub)
    assert ranges(hub) == []


def test_a_busy_hub_is_waited_for_as_long_as_it_asks(hub: HubServer) -> None:
    hub.files[FILE] = CONTENT
    hub.busy, hub.retry_after = 1, "0"
    report = from_hub(hub)
    assert fetched() == CONTENT
    assert report.notices == [f"{hub.host} answered 503 for toy.gguf; trying again"]


def test_a_hub_that_asks_for_too_much_patience_is_given_up(hub: HubServer) -> None:
    hub.files[FILE] = CONTENT
    hub.busy, hub.retry_after = 1, str(int(LONGEST_WAIT_S) + 1)
    with pytest.raises(NetworkError, match=r"answered 503 for toy\.gguf: it asks to wait 61 s"):
        from_hub(hub)


class Script:
    """A source that does one thing after the other: delivers bytes, or fails."""

    def __init__(self, *acts: bytes | SourceError) -> None:
        self._acts = list(acts)
        self.asked: list[int] = []

    def __call__(self, start: int) -> Generator[bytes]:
        self.asked.append(start)
        while self._acts:
            act = self._acts.pop(0)
            if isinstance(act, SourceError):
                raise act
            yield act


def run(script: Script, *pauses_s: float) -> list[str]:
    notices: list[str] = []
    list(reconnecting(script, 0, pauses_s=pauses_s, notice=notices.append, stop=Never()))
    return notices


def test_bytes_bring_all_pauses_back() -> None:
    lost = BrokenOffError("it broke off")
    script = Script(b"a", lost, lost, b"b", lost, lost, b"c")
    run(script, 0, 0)
    assert script.asked == [0, 1, 1, 2, 2]


@pytest.mark.parametrize("error", [BusyError("it is busy"), SourceUnreachableError("it is gone")])
def test_who_never_delivered_is_not_waited_for(error: SourceError) -> None:
    with pytest.raises(type(error)):
        run(Script(error), 0, 0)
    script = Script(b"a", error, b"b")
    run(script, 0, 0)
    assert script.asked == [0, 1]


def test_a_refusal_is_final() -> None:
    script = Script(b"a", SourceError("it has no such file"))
    with pytest.raises(SourceError):
        run(script, 0, 0)
    assert script.asked == [0]
