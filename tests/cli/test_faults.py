"""What the machine and the shell can do to the command: closed streams, full disks, signals, odd encodings."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.shell import COMMAND, TIMEOUT_S, lines, specdesk, started
from tests.tiny.gguf_models import TinyPair

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")


@pytest.fixture
def pair(tiny_pair: TinyPair) -> Sequence[str]:
    files = ("--target", str(tiny_pair.target), "--draft", str(tiny_pair.draft))
    return (*files, "--threads", "1", "--ctx", "256", "--seed", "1")


def shell(redirection: str, *args: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """`specdesk` behind a redirection of the shell's."""
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {redirection}', "sh", *COMMAND, *args],
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=TIMEOUT_S,
        check=False,
        env=os.environ | (env or {}),
    )


@pytest.mark.parametrize("extra", [(), ("--json",)])
def test_a_full_disk_behind_standard_output(pair: Sequence[str], extra: Sequence[str]) -> None:
    done = shell(">/dev/full", "run", "hi", *pair, "-n", "20", *extra)
    assert done.returncode == 5
    assert "No space left" in lines(done.stderr)[-1]
    assert "Traceback" not in done.stderr


def test_a_full_disk_behind_the_trace(pair: Sequence[str]) -> None:
    done = specdesk("run", "hi", *pair, "-n", "20", "--trace", "/dev/full")
    assert done.returncode == 5
    assert "cannot write the trace /dev/full: No space left" in lines(done.stderr)[-1]
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("redirection", "code", "said"),
    [
        (">&-", 5, "standard output is closed"),
        ("<&-", 0, ""),
        ("2>&-", 0, ""),
        ("<&- 2>&-", 0, ""),
    ],
)
def test_closed_streams(pair: Sequence[str], redirection: str, code: int, said: str) -> None:
    done = shell(redirection, "run", "hi", *pair, "-n", "5")
    assert done.returncode == code
    assert said in done.stderr
    assert bool(done.stdout) == (code == 0)


def test_a_closed_standard_input_is_an_empty_prompt(pair: Sequence[str]) -> None:
    done = shell("<&-", "run", "-", *pair)
    assert done.returncode == 2
    assert "empty" in lines(done.stderr)[-1]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_an_encoding_that_cannot_hold_the_answer(pair: Sequence[str], encoding: str) -> None:
    env = {"PYTHONIOENCODING": encoding}
    text = specdesk("run", "hi", *pair, "-n", "40", "-t", "5", "--min-p", "0", "--top-k", "0", "--top-p", "1", env=env)
    assert text.returncode == 0, text.stderr
    as_json = specdesk("run", "hi", *pair, "-n", "5", "--json", "--stop", "🦜", env=env)
    assert json.loads(as_json.stdout)["settings"]["stop"] == ["🦜"]


@pytest.mark.parametrize("args", [("a\udcffb",), ("hi", "--stop", "\udcff"), ("hi", "--system", "\udcff")])
def test_arguments_that_are_no_text_are_refused(pair: Sequence[str], args: Sequence[str]) -> None:
    done = shell("", "run", *args, *pair)
    assert (done.returncode, done.stdout) == (2, "")
    assert "UTF-8" in lines(done.stderr)[-1]


def test_a_trace_does_not_overwrite_a_model(pair: Sequence[str], tiny_pair: TinyPair) -> None:
    before = tiny_pair.target.read_bytes()
    done = specdesk("run", "hi", *pair, "--trace", tiny_pair.target)
    assert done.returncode == 2
    assert "is a model file" in lines(done.stderr)[-1]
    assert tiny_pair.target.read_bytes() == before


def test_a_pipe_is_no_model(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.gguf"
    os.mkfifo(pipe)
    done = specdesk("run", "hi", "--target", pipe)
    assert done.returncode == 3
    assert "no regular file" in lines(done.stderr)[-1]


@pytest.mark.parametrize(("home", "code"), [("~nosuchuser/x", 5), ("/dev/null/x", 3), ("x" * 5000, 5)])
def test_an_impossible_home(home: str, code: int) -> None:
    done = specdesk("run", "hi", "--no-download", env={"SPECDESK_HOME": home})
    assert done.returncode == code
    assert len(lines(done.stderr)) == 1


def test_names_do_not_drive_the_terminal() -> None:
    done = specdesk("run", "hi", "--target", "/nope/a\nb\x1b[31mc")
    (line,) = lines(done.stderr)
    assert "\x1b" not in line


def test_more_text_than_any_tokens_could_hold_is_refused_at_once(tiny_pair: TinyPair) -> None:
    done = specdesk("run", "-", "--target", tiny_pair.target, "--ctx", "256", "--raw", stdin="a" * 20_000_000)
    assert done.returncode == 2
    assert "20000000 bytes" in lines(done.stderr)[-1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_the_models_load_ends_it_quietly(pair: Sequence[str], tmp_path: Path, number: int) -> None:
    """The trace is opened before the models: its appearance is the moment."""
    trace = tmp_path / "trace.jsonl"
    os.mkfifo(trace)
    with started("run", "hi", *pair[:-4], "--ctx", "4096", "--trace", trace) as process:
        with trace.open() as opened:
            process.send_signal(number)
            opened.read()
        out, err = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode in (130, 143)
    assert "Traceback" not in err
    assert not out.strip() or process.returncode == 130
