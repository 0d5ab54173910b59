"""What a repository holds, as others tell it: mirrors and proxies of companies answer in their own ways."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from huggingface_hub import constants

from specdesk.hub.artifacts import ModelFile
from specdesk.hub.reference import HubReference
from specdesk.hub.sources.access import endpoint
from specdesk.hub.sources.listing import Repository, look_into
from specdesk.hub.sources.reconnecting import LONGEST_WAIT_S
from specdesk.hub.sources.source import SourceError
from specdesk.hub.stopping import Never
from tests.hub.samples import CONTENT
from tests.hub.server import HubServer

SIZE = len(CONTENT)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
TOY = HubReference("owner/toy", "toy.gguf", None)
FILE = {"rfilename": "toy.gguf", "size": SIZE, "lfs": {"size": SIZE, "sha256": SHA256, "pointerSize": 130}}


def looked_into(hub: HubServer, reference: HubReference = TOY) -> Repository:
    hub.files["owner/toy/toy.gguf"] = CONTENT
    return look_into(reference, notice=lambda _text: None, stop=Never(), endpoint=hub.url)


def told(**other: Any) -> bytes:
    """A listing as it should be but for what is given."""
    answer = {"id": "owner/toy", "sha": "0" * 40, "cardData": {"license": "mit"}, "siblings": [FILE]}
    return json.dumps(answer | other).encode()


def of_file(**other: Any) -> bytes:
    return told(siblings=[FILE | other])


def test_what_it_should_be(hub: HubServer) -> None:
    hub.listing = told()
    found = looked_into(hub)
    assert (found.commit, found.licence) == ("0" * 40, "mit")
    assert found.files == {"toy.gguf": ModelFile("toy.gguf", SIZE, SHA256, SHA256)}


@pytest.mark.parametrize(
    "listing",
    [
        b"",
        b"<html>please log in</html>",
        b"\xff\xfe",
        b"null",
        b'"owner/toy"',
        b"[1, 2]",
        b"[" * 100_000,
        told(siblings={"toy.gguf": 1}),
        told(siblings=["toy.gguf"]),
        told(siblings=[None]),
        of_file(lfs={"size": SIZE}),
        of_file(lfs="yes"),
        b"{}",
    ],
)
def test_an_answer_of_another_kind_is_said_to_be_one(hub: HubServer, listing: bytes) -> None:
    hub.listing = listing
    with pytest.raises(SourceError, match=f"^{hub.host} answered something else than the hub does .*HF_ENDPOINT"):
        looked_into(hub)


@pytest.mark.parametrize("size", [None, 0, -5, "10240", 1.5, True])
def test_a_file_without_a_size_is_left_out(hub: HubServer, size: object) -> None:
    hub.listing = of_file(size=size)
    assert looked_into(hub).files == {}


@pytest.mark.parametrize("name", [None, 5, ["toy.gguf"]])
def test_a_file_without_a_name_is_left_out(hub: HubServer, name: object) -> None:
    hub.listing = of_file(rfilename=name)
    assert looked_into(hub).files == {}


def test_a_sha256_may_be_written_in_capitals(hub: HubServer) -> None:
    hub.listing = of_file(lfs=FILE["lfs"] | {"sha256": SHA256.upper()})  # type: ignore[operator]
    assert looked_into(hub).files["toy.gguf"].sha256 == SHA256


@pytest.mark.parametrize("sha256", ["", "zz", None, 5, SHA256[:-1]])
def test_what_is_no_sha256_is_none(hub: HubServer, sha256: object) -> None:
    """No file has it: all of one would be fetched to be deleted."""
    hub.listing = of_file(lfs=FILE["lfs"] | {"sha256": sha256}, blobId="b10b")  # type: ignore[operator]
    assert looked_into(hub).files["toy.gguf"] == ModelFile("toy.gguf", SIZE, None, "b10b")


@pytest.mark.parametrize("card", [None, [], ["mit"], "mit", {"license": {}}, {"license": None}])
def test_a_card_that_is_none_states_no_licence(hub: HubServer, card: object) -> None:
    hub.listing = told(cardData=card)
    assert not looked_into(hub).licence


@pytest.mark.parametrize("sha", [None, 5, ""])
def test_a_commit_without_a_name_is_called_as_it_was_asked_for(hub: HubServer, sha: object) -> None:
    hub.listing = told(sha=sha)
    assert looked_into(hub).commit == "main"
    assert looked_into(hub, HubReference("owner/toy", "toy.gguf", "v1")).commit == "v1"


@pytest.mark.parametrize("repo", ["own er/toy", "owner/toy.git", "owner/to--y", "-owner/toy"])
def test_what_no_repository_can_be_called_is_said_to_be_so(hub: HubServer, repo: str) -> None:
    with pytest.raises(SourceError, match=f'^"{repo}" is no name of a repository: '):
        looked_into(hub, HubReference(repo, "toy.gguf", None))
    assert hub.seen == []


def test_an_endpoint_that_is_empty_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which is how a variable is taken back in many a file of settings."""
    monkeypatch.setattr(constants, "ENDPOINT", "")
    assert endpoint() == "https://huggingface.co"


def test_a_proxy_that_is_no_address_is_said(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:port")
    with pytest.raises(SourceError, match=r"could not be asked: .*port.* \(an endpoint, proxy"):
        looked_into(hub)


def test_a_split_model_of_which_a_part_is_missing_is_left_out(hub: HubServer) -> None:
    names = ["a-00001-of-00002.gguf", "a-00002-of-00002.gguf", "b-00001-of-00002.gguf", "c-00002-of-00002.gguf"]
    hub.listing = told(siblings=[FILE | {"rfilename": name} for name in names])
    (model,) = looked_into(hub, HubReference("owner/toy", "", None)).models()
    assert [one.file.path for one in model.files] == names[:2]


def test_a_hub_that_asks_for_too_much_patience_is_not_waited_for(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr("specdesk.hub.sources.asking.pause", lambda seconds, _stop: waits.append(seconds))
    hub.busy, hub.retry_after = 1, str(int(LONGEST_WAIT_S) + 1)
    with pytest.raises(SourceError, match="it asks to wait 61 s"):
        looked_into(hub)
    hub.busy, hub.retry_after = 1, str(int(LONGEST_WAIT_S))
    assert looked_into(hub).files
    assert waits == [LONGEST_WAIT_S]
