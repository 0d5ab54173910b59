"""With the models here no command asks the network for anything, nor for the address of a host."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from specdesk.hub.here.origin import Origin, keep_origin
from specdesk.paths import models_dir
from tests.cli.conftest import OPTIONS
from tests.cli.shell import specdesk
from tests.cli.terminal import Start
from tests.tiny.gguf_models import TinyPair
from tests.tiny.gguf_stubs import write_stub

WATCH = """
import os, sys

def watch(event, args):
    if event == "socket.getaddrinfo" or (event == "socket.connect" and isinstance(args[1], tuple)):
        with open(os.environ["ASKED"], "a") as asked:
            print(event, *args, file=asked)
        raise OSError("the network is blocked")

sys.addaudithook(watch)
"""


@pytest.fixture
def blocked(tmp_path: Path) -> dict[str, str]:
    """An environment in which every process notes what it asks of the network, and is refused."""
    folder = tmp_path / "watch"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(WATCH)
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    return {"PYTHONPATH": path, "ASKED": str(tmp_path / "asked")}


def asked(env: dict[str, str]) -> str:
    path = Path(env["ASKED"])
    return path.read_text() if path.exists() else ""


def test_the_watch_sees_what_is_asked(blocked: dict[str, str]) -> None:
    done = specdesk("download", "hf:owner/toy/toy.gguf", env=blocked)
    assert done.returncode == 4
    assert "socket." in asked(blocked)


def test_run_asks_nothing(blocked: dict[str, str], tiny_pair: TinyPair) -> None:
    done = specdesk(
        "run", "--target", tiny_pair.target, "--draft", tiny_pair.draft, *OPTIONS, "-n", 8, "hello", env=blocked
    )
    assert done.returncode == 0, done.stderr
    assert asked(blocked) == ""


def test_chat_asks_nothing(blocked: dict[str, str], start: Start) -> None:
    chat = start(**blocked)
    chat.type("\x11")
    assert chat.ended() == 0
    assert asked(blocked) == ""


@pytest.mark.parametrize(
    "command",
    [("models", "list"), ("models", "verify"), ("download", "--list"), ("download", "hf:owner/toy/toy.gguf")],
    ids=" ".join,
)
def test_what_is_here_is_listed_and_checked_without_asking(blocked: dict[str, str], command: tuple[str, ...]) -> None:
    path = write_stub(models_dir() / "owner" / "toy" / "toy.gguf")
    keep_origin(path, Origin("hf:owner/toy/toy.gguf", "", None, None))
    done = specdesk(*command, env=blocked)
    assert done.returncode == 0, done.stderr
    assert asked(blocked) == ""
