"""The hub as a source, against a server on this machine."""

from __future__ import annotations

import socket
from collections.abc import Generator
from pathlib import Path

import pytest
from huggingface_hub.file_download import HfFileMetadata

from specdesk.errors import NetworkError
from specdesk.hub.artifacts import Artifact
from specdesk.hub.download.fetch import fetch
from specdesk.hub.here import on_disk
from specdesk.hub.sources.http_body import HttpBody
from specdesk.hub.sources.hub import HubSource
from specdesk.hub.sources.source import FileSource
from tests.hub.samples import CONTENT, GivenSource, Recorder, artifact_of, corrupted
from tests.hub.server import HubServer

TOKEN = "hf_secretsecretsecret"
FILE = "owner/toy/toy.gguf"

GATED = "HOST has a licence on owner/toy: accept it at URL/owner/toy and set HF_TOKEN (401)"
NO_TOKEN = "HOST shows no owner/toy without a token: check the name, or set HF_TOKEN and see URL/owner/toy (401)"
BAD_TOKEN = "HOST shows no owner/toy to this token: check both, the name at URL/owner/toy (401)"
NO_LICENCE = "HOST refuses owner/toy to this token: accept its licence at URL/owner/toy (403)"
NO_FILE = "HOST has no toy.gguf in owner/toy at revision main: see URL/owner/toy (404)"
NO_REVISION = "HOST has no revision main of owner/toy: see URL/owner/toy (404)"
NO_REPO = "HOST has no owner/toy: see URL/owner/toy (404)"


def fetch_from(url: str, *further: FileSource, answer_s: float = 10.0, stall_s: float = 10.0) -> Recorder:
    report = Recorder()

    def sources_of(artifact: Artifact) -> tuple[FileSource, ...]:
        return HubSource(artifact, endpoint=url, answer_s=answer_s, stall_s=stall_s, pauses_s=()), *further

    fetch(artifact_of(), report, sources_of=sources_of)
    return report


def fetched() -> bytes:
    artifact = artifact_of()
    return on_disk.file_path(artifact, artifact.files[0]).read_bytes()


def failure(url: str, *, answer_s: float = 10.0, stall_s: float = 10.0) -> str:
    with pytest.raises(NetworkError) as caught:
        fetch_from(url, answer_s=answer_s, stall_s=stall_s)
    message = str(caught.value)
    assert "\n" not in message
    return message.removeprefix("toy.gguf could not be fetched: ")


def closed_port_url() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_a_reachable_hub_is_used(hub: HubServer) -> None:
    hub.files[FILE] = CONTENT
    spare = GivenSource([CONTENT])
    report = fetch_from(hub.url, spare)
    assert fetched() == CONTENT
    assert [(seen.method, seen.target) for seen in hub.seen] == [
        ("HEAD", "/owner/toy/resolve/main/toy.gguf"),
        ("GET", "/owner/toy/resolve/main/toy.gguf"),
    ]
    assert (spare.asked, report.notices) == (0, [])


def test_a_closed_port_means_the_next_source_and_one_line(hub: HubServer) -> None:
    url = closed_port_url()
    report = fetch_from(url, GivenSource([CONTENT], "the spare"))
    host = url.removeprefix("http://")
    assert report.notices == [f"{host} could not be reached: Connection refused; trying the spare"]
    assert fetched() == CONTENT


def test_a_hub_that_never_answers_means_the_next_source() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        host = f"127.0.0.1:{listener.getsockname()[1]}"
        report = fetch_from(f"http://{host}", GivenSource([CONTENT], "the spare"), answer_s=0.1)
    assert report.notices == [f"{host} did not answer within 0.1 s; trying the spare"]
    assert fetched() == CONTENT


@pytest.mark.parametrize("stalls", ["at once", "never answers"])
def test_a_proxy_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch, stalls: str) -> None:
    """The wait is bounded, and the proxy is what the user has to look at."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        proxy = f"127.0.0.1:{listener.getsockname()[1]}"
        if stalls == "at once":
            listener.close()
        monkeypatch.setenv("HTTP_PROXY", f"http://someone:password@{proxy}")
        said = failure("http://hub.invalid", answer_s=0.1)
    assert said.startswith("hub.invalid ")
    assert f"through the proxy {proxy}" in said
    assert "password" not in said


def test_a_name_that_takes_too_long_to_find_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client's own timeout does not cover the lookup of a name."""
    with HubServer() as hub:

        def never(*args: object, **kwargs: object) -> None:
            hub.stay_silent()
            raise OSError("too late to matter")

        monkeypatch.setattr("socket.getaddrinfo", never)
        assert failure(hub.url, answer_s=0.1) == f"{hub.host} did not answer within 0.1 s"


def test_a_body_that_stalls_is_given_up(hub: HubServer, home: Path) -> None:
    hub.files[FILE] = CONTENT
    hub.sent_bytes, hub.stalls = 100, True
    assert failure(hub.url, stall_s=0.1) == f"{hub.host} sent nothing for 0.1 s"
    assert not list(home.rglob("*.gguf"))


def test_a_body_that_breaks_off_is_no_file(hub: HubServer, home: Path) -> None:
    hub.files[FILE] = CONTENT
    hub.sent_bytes = 100
    assert failure(hub.url).startswith(f"{hub.host} broke off: peer closed connection")
    assert not list(home.rglob("*.gguf"))


def test_wrong_bytes_from_the_hub_are_deleted_and_named(hub: HubServer, home: Path) -> None:
    hub.files[FILE] = corrupted(CONTENT)
    assert f"toy.gguf from {hub.host} was deleted: its sha256 is " in failure(hub.url)
    assert not list(home.rglob("toy.gguf*"))


@pytest.mark.parametrize("where", ["head", "body"])
def test_a_wrong_size_is_seen_before_the_first_byte(hub: HubServer, where: str) -> None:
    hub.files[FILE] = CONTENT if where == "head" else CONTENT + b"!"
    hub.announced_size = len(CONTENT) + 1 if where == "head" else len(CONTENT)
    expected = f"{hub.host} announces {len(CONTENT) + 1} bytes for toy.gguf, which has {len(CONTENT)}"
    assert failure(hub.url) == expected
    assert len(hub.seen) == (1 if where == "head" else 2)


@pytest.mark.parametrize(
    ("status", "code", "token", "message"),
    [
        (401, "GatedRepo", False, GATED),
        (401, "RepoNotFound", False, NO_TOKEN),
        (401, None, False, NO_TOKEN),
        (401, None, True, BAD_TOKEN),
        (403, "GatedRepo", True, NO_LICENCE),
        (403, None, True, NO_LICENCE),
        (404, "EntryNotFound", True, NO_FILE),
        (404, "RevisionNotFound", True, NO_REVISION),
        (404, "RepoNotFound", True, NO_REPO),
        (404, None, False, NO_FILE),
        (503, None, True, "HOST answered 503 for toy.gguf"),
        (429, None, True, "HOST answered 429 for toy.gguf"),
    ],
)
def test_each_refusal_has_its_own_line(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch, status: int, code: str | None, token: bool, message: str
) -> None:
    if token:
        monkeypatch.setenv("HF_TOKEN", TOKEN)
    hub.files[FILE] = CONTENT
    hub.status, hub.error_code = status, code
    said = failure(hub.url)
    assert said == message.replace("HOST", hub.host).replace("URL", hub.url)
    assert TOKEN not in said
    assert {seen.authorization for seen in hub.seen} == {f"Bearer {TOKEN}" if token else None}


def test_a_refused_body_is_not_taken_for_a_file(hub: HubServer) -> None:
    hub.files[FILE] = CONTENT
    hub.get_status = 503
    assert failure(hub.url) == f"{hub.host} answered 503 for toy.gguf"


def test_the_hub_gets_the_token(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    hub.files[FILE] = CONTENT
    report = fetch_from(hub.url)
    assert [seen.authorization for seen in hub.seen] == [f"Bearer {TOKEN}"] * 2
    assert TOKEN not in repr(report)


@pytest.mark.parametrize("redirected", ["head_redirect", "get_redirect"])
def test_no_other_host_gets_the_token(
    hub: HubServer, content_network: HubServer, monkeypatch: pytest.MonkeyPatch, redirected: str
) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    hub.files[FILE] = content_network.files[FILE] = CONTENT
    setattr(hub, redirected, content_network.url)
    fetch_from(hub.url)
    assert fetched() == CONTENT
    assert {seen.authorization for seen in hub.seen} == {f"Bearer {TOKEN}"}
    assert [(seen.method, seen.authorization) for seen in content_network.seen] == [("GET", None)]


def test_a_token_that_is_no_header_is_not_quoted(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", f"{TOKEN}\x0b{TOKEN}")
    hub.files[FILE] = CONTENT
    said = failure(hub.url)
    assert said == f"{hub.host} could not be reached: LocalProtocolError"


def test_credentials_in_the_endpoint_are_not_printed(hub: HubServer) -> None:
    said = failure(hub.url.replace("http://", "http://someone:password@"))
    assert "password" not in said


@pytest.mark.parametrize(
    ("location", "goes_along"), [("http://HOST/x", True), ("https://HOST/x", False), ("http://localhost/x", False)]
)
def test_the_token_goes_only_to_where_it_was_asked_for(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch, location: str, goes_along: bool
) -> None:
    """Another protocol is another place: who answers there need not be the same."""
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    hub.files[FILE] = CONTENT
    asked: list[dict[str, str]] = []
    where = location.replace("HOST", hub.host)
    metadata = HfFileMetadata(None, None, where, len(CONTENT), None)
    monkeypatch.setattr("specdesk.hub.sources.hub.get_hf_file_metadata", lambda *_args, **_options: metadata)

    def chunks(_self: HttpBody, _location: str, headers: dict[str, str], _start: int) -> Generator[bytes]:
        asked.append(headers)
        yield CONTENT

    monkeypatch.setattr(HttpBody, "chunks", chunks)
    fetch_from(hub.url)
    assert [bool(headers.get("Authorization")) for headers in asked] == [goes_along]
