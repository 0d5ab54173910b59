"""Bodies that are not sent as they should be: they are gone on with, or refused; none is taken for the file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from specdesk.hub.artifacts import ModelFile
from specdesk.hub.sources.http_body import HttpBody
from specdesk.hub.sources.reconnecting import reconnecting
from specdesk.hub.sources.source import ResumeError, SourceError
from specdesk.hub.stopping import Never
from tests.hub.samples import CONTENT
from tests.hub.server import HubServer

SIZE = len(CONTENT)
HALF = 5000
FILE = ModelFile("toy.gguf", SIZE, None, "")


@pytest.fixture
def hub() -> Iterator[HubServer]:
    with HubServer({"toy.gguf": CONTENT}) as server:
        yield server


def body(hub: HubServer, start: int = 0, location: str = "") -> bytes:
    """What comes of the file from `start` on; lost connections are made again three times at most."""
    one = HttpBody(FILE, answer_s=10, stall_s=10, stop=Never())
    return b"".join(
        reconnecting(
            lambda at: one.chunks(location or f"{hub.url}/toy.gguf", {}, at),
            start,
            pauses_s=(0, 0, 0),
            notice=lambda _text: None,
            stop=Never(),
        )
    )


def ranges(hub: HubServer) -> list[str | None]:
    return [seen.range for seen in hub.seen]


def test_a_connection_that_ends_is_made_again_also_where_no_length_was_said(hub: HubServer) -> None:
    hub.says_length, hub.breaks = False, [6000, 1000]
    assert body(hub) == CONTENT
    assert ranges(hub) == [None, "bytes=6000-", "bytes=7000-"]


def test_one_that_always_ends_before_the_end_is_given_up(hub: HubServer) -> None:
    hub.says_length, hub.sent_bytes = False, 0
    with pytest.raises(SourceError, match=f"{hub.host} broke off: it sent 0 of {SIZE} bytes"):
        body(hub)
    assert len(hub.seen) == 4


def test_a_server_that_sends_less_than_it_is_asked_for_is_asked_again(hub: HubServer) -> None:
    hub.most_bytes = 2000
    assert body(hub, HALF) == CONTENT[HALF:]
    assert ranges(hub) == [f"bytes={start}-" for start in range(HALF, SIZE, 2000)]


@pytest.mark.parametrize(
    ("ranges", "said"),
    [("none", "cannot go on in the middle"), ("wrong", "another part"), ("unsaid", "another part")],
)
def test_what_is_not_said_to_be_the_rest_is_not_taken_for_it(hub: HubServer, ranges: str, said: str) -> None:
    hub.ranges = ranges
    with pytest.raises(ResumeError, match=said):
        body(hub, HALF)


def test_a_file_that_ends_before_the_rest_is_begun_again(hub: HubServer) -> None:
    hub.files["toy.gguf"] = CONTENT[:HALF]
    with pytest.raises(ResumeError, match=f"{hub.host} has less of toy.gguf than has come already"):
        body(hub, HALF)


@pytest.mark.parametrize("total", [SIZE + 1, SIZE - 1])
def test_a_part_of_a_longer_or_shorter_file_is_refused_before_its_first_byte(hub: HubServer, total: int) -> None:
    """The part itself ends where it should."""
    hub.total = str(total)
    with pytest.raises(SourceError, match=f"{hub.host} announces {total} bytes for toy.gguf, which has {SIZE}"):
        body(hub, HALF)


def test_a_part_of_a_file_of_unknown_length_will_do(hub: HubServer) -> None:
    hub.total = "*"
    assert body(hub, HALF) == CONTENT[HALF:]


def test_no_server_is_asked_to_compress(hub: HubServer) -> None:
    """The client would ask for it by itself, and lengths and ranges be those of something else."""
    body(hub)
    body(hub, HALF)
    assert [seen.accept_encoding for seen in hub.seen] == ["identity"] * 2


@pytest.mark.parametrize("says_length", [True, False])
def test_what_is_compressed_unasked_is_the_file_from_its_beginning_only(hub: HubServer, says_length: bool) -> None:
    hub.compresses, hub.says_length = True, says_length
    assert body(hub) == CONTENT
    with pytest.raises(ResumeError, match="compressed"):
        body(hub, HALF)


@pytest.mark.parametrize(
    ("path", "said"),
    [("/", "redirects"), ("ftp://127.0.0.1/", "ftp")],
    ids=["a circle", "another protocol"],
)
def test_a_way_that_leads_nowhere_is_not_gone_twice(hub: HubServer, path: str, said: str) -> None:
    hub.get_redirect = hub.url if path == "/" else path
    with pytest.raises(SourceError, match=said):
        body(hub)
    assert len(hub.seen) == (21 if path == "/" else 1)


def test_an_address_that_is_none_is_refused(hub: HubServer) -> None:
    with pytest.raises(SourceError, match="nvalid"):
        body(hub, location="http://127.0.0.1:port/toy.gguf")
