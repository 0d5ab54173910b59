"""What holds for every test: a home of its own, and no network but this machine."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from specdesk import paths
from specdesk.hub.manifest import DEFAULT_ALIAS, load_manifest
from tests.tiny.gguf_models import TinyPair, write_pair, write_quantized_pair

_REAL_MODELS = paths.models_dir()
"""Where the user's models are; read before any test moves home."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """An option is known to pytest only where its root conftest tells of it."""
    parser.addoption("--accept-snapshots", action="store_true", help="keep how the screens look now as how they should")


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing a test writes lands in the home of whoever runs it."""
    home = tmp_path / "home"
    home.mkdir()
    for variable in [name for name in os.environ if name.startswith(("XDG_", "HF_", "SPECDESK_"))]:
        monkeypatch.delenv(variable)
    for variable in ("COLUMNS", "LINES"):  # of another terminal; pytest's workers have them
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("SPECDESK_HOME", str(home / "specdesk"))
    return home


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection to anywhere but this machine fails the test that made it."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            host = address[0] if isinstance(address, tuple) else address
            if host not in ("127.0.0.1", "::1", "localhost"):
                pytest.fail(f"a test tried to reach {address}")
        connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(scope="session")
def tiny_pair(tmp_path_factory: pytest.TempPathFactory) -> TinyPair:
    """Two real GGUF files of half a megabyte each."""
    return write_pair(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def quantized_pair(tmp_path_factory: pytest.TempPathFactory) -> TinyPair:
    """The same as Q8_0, for exact mode."""
    return write_quantized_pair(tmp_path_factory.mktemp("quantized"))


@pytest.fixture(scope="session")
def real_pair() -> tuple[Path, Path]:
    """Target and draft of the default pair; skips, saying how to get them, when they are not here."""
    target, draft = (
        _REAL_MODELS / artifact.repo / artifact.files[0].path
        for artifact in load_manifest().pair(DEFAULT_ALIAS).artifacts
    )
    if not (target.is_file() and draft.is_file()):
        pytest.skip("the default pair is not on this machine: specdesk download default")
    return target, draft
