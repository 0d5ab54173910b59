from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import close_session, constants

from tests.hub.server import HubServer


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A machine of its own: no token, no proxy, no pip configuration; and SPECDESK_HOME, not made yet."""
    for name in list(os.environ):
        if name.startswith(("HF_", "PIP_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("SPECDESK_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    close_session()
    yield tmp_path / "data"
    close_session()


@pytest.fixture
def hub() -> Iterator[HubServer]:
    with HubServer() as server:
        yield server


@pytest.fixture
def content_network() -> Iterator[HubServer]:
    """Another host, where the hub says the bytes lie."""
    with HubServer() as server:
        yield server


@pytest.fixture
def wheelhouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory that is all pip can see."""
    directory = tmp_path / "wheelhouse"
    directory.mkdir()
    monkeypatch.setenv("PIP_FIND_LINKS", str(directory))
    return directory
