"""Without llama.cpp: what needs none works, and the rest says what to install, in one line."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from specdesk.engine.requirement import LEAST_VERSION
from tests.cli.shell import lines, specdesk
from tests.tiny.gguf_models import TinyPair

ABSENT = "raise ModuleNotFoundError(\"No module named 'llama_cpp'\")"
BROKEN = "print('a stray line'); raise RuntimeError('Failed to load shared library libllama.so')"
OLD = "__version__ = '0.3.9'"
CRASHING = "import os; os.abort()"


@pytest.fixture
def with_engine(tmp_path: Path) -> dict[str, str]:
    """An environment in which llama_cpp is what a test writes into `tmp_path`."""
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH", str(Path.cwd())))))}


def write(folder: Path, code: str) -> None:
    (folder / "llama_cpp.py").write_text(code)


@pytest.mark.parametrize(
    "args",
    [["--help"], ["run", "--help"], ["download", "--list"], ["models"], ["models", "--json"], ["chats"]],
    ids=" ".join,
)
def test_what_needs_no_engine_works(tmp_path: Path, with_engine: dict[str, str], args: list[str]) -> None:
    write(tmp_path, ABSENT)
    done = specdesk(*args, env=with_engine)
    assert done.returncode == 0
    assert "llama" not in done.stderr


@pytest.mark.parametrize(
    ("code", "said"),
    [(ABSENT, "No module named 'llama_cpp'"), (BROKEN, "libllama.so"), (OLD, f"0.3.9 in {sys.executable} is too old")],
    ids=["absent", "broken", "old"],
)
@pytest.mark.parametrize("command", ["run", "tune"])
def test_what_needs_one_says_what_to_install(
    tmp_path: Path, with_engine: dict[str, str], tiny_pair: TinyPair, command: str, code: str, said: str
) -> None:
    write(tmp_path, code)
    prompt = ["Hello"] if command == "run" else []
    done = specdesk(command, *prompt, "--target", tiny_pair.target, "--draft", tiny_pair.draft, env=with_engine)
    assert (done.returncode, done.stdout) == (3, "")
    (line,) = lines(done.stderr)
    assert said in line
    assert f"{sys.executable} -m pip install" in line
    assert f"llama-cpp-python>={LEAST_VERSION}" in line


def test_one_that_crashes_while_it_is_loaded(tmp_path: Path, with_engine: dict[str, str], tiny_pair: TinyPair) -> None:
    write(tmp_path, CRASHING)
    done = specdesk("run", "Hello", "--target", tiny_pair.target, env=with_engine)
    assert done.returncode == 1
    assert "ended by SIGABRT" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_least_version_is_the_one_that_is_installed_with_specdesk() -> None:
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    assert f'"llama-cpp-python>={LEAST_VERSION}"' in project
