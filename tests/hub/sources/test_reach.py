"""Whether something can be had from the hub: asked of a server of the tests."""

from __future__ import annotations

import socket
from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub import constants

from specdesk.hub.sources.reach import reach_hub
from tests.hub.samples import CONTENT, artifact_of
from tests.hub.server import HubServer


def at(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", url + "/{repo_id}/resolve/{revision}/{filename}")


def test_a_hub_that_answers(hub: HubServer, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.files["owner/toy/toy.gguf"] = CONTENT
    at(hub.url, monkeypatch)
    found = reach_hub(artifact_of())
    assert (found.hub, found.problem) == (hub.host, "")
    assert [seen.method for seen in hub.seen] == ["HEAD", "GET"]
    assert not home.exists(), "nothing is written"


def test_one_that_refuses(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.status = 503
    at(hub.url, monkeypatch)
    assert "answered 503" in reach_hub(artifact_of()).problem


def test_one_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    at(f"http://127.0.0.1:{port}", monkeypatch)
    assert reach_hub(artifact_of()).problem == f"127.0.0.1:{port} could not be reached: Connection refused"


def test_offline_nothing_is_asked(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    at(hub.url, monkeypatch)
    monkeypatch.setattr(huggingface_hub, "is_offline_mode", lambda: True)
    assert reach_hub(artifact_of()).problem == "HF_HUB_OFFLINE is set"
    assert hub.seen == []
