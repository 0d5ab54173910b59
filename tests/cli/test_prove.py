"""`specdesk prove` from the shell."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.shell import TIMEOUT_S, lines, specdesk, started
from tests.tiny.gguf_models import TinyPair

QUICK = ("prove", "--quick", "--threads", 1, "--ctx", 2048, "--seed", 1)


@pytest.fixture
def pair(quantized_pair: TinyPair) -> Sequence[object]:
    return ("--target", quantized_pair.target, "--draft", quantized_pair.draft)


def test_the_report(pair: Sequence[object]) -> None:
    done = specdesk(*QUICK, *pair)
    assert done.returncode == 0, done.stdout
    *claims, verdict = lines(done.stdout)
    assert sum(line.lstrip().startswith("holds ") for line in claims) == 8
    assert verdict == "holds: target.gguf with draft.gguf, computed by llama.cpp, -k 4, --seed 1"
    assert "a shift of" in done.stdout


def test_as_json(pair: Sequence[object]) -> None:
    done = specdesk(*QUICK, *pair, "--json")
    assert done.returncode == 0
    report = json.loads(done.stdout)
    assert report["verdict"] == "holds"
    assert report["seed"] == 1
    assert len(report["claims"]) == 8
    assert report["engine"]["exact"]["exact"]["width"] == 9
    assert report["engine"]["default"]["exact"] is None


ALL_ACCEPTED = (
    "import sys; sys.path[:] = sys.argv[3:]\n"
    "from specdesk.core import rules\n"
    "from tests.proof.test_claims import accept_all\n"
    "rules.block = rules.rejection = accept_all\n"
)
"""Run by the engine's process before it serves."""


def test_a_fault_is_exit_code_1(pair: Sequence[object]) -> None:
    """The command itself with one rule broken: every draft accepted."""
    broken = (
        "import sys\n"
        "from specdesk.engine import process\n"
        "from specdesk.__main__ import main\n"
        f"process._BOOT = {ALL_ACCEPTED!r} + process._BOOT\n"
        f"sys.argv = ['specdesk', *{[str(part) for part in (*QUICK, *pair)]!r}]\n"
        "main()\n"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", broken], capture_output=True, text=True, timeout=TIMEOUT_S, check=False, cwd=root
    )
    assert done.returncode == 1, done.stderr
    assert "fault  exact mode writes what plain decoding writes" in done.stdout
    assert lines(done.stdout)[-1].startswith("fault: ")


def test_without_a_draft_there_is_nothing_to_prove(quantized_pair: TinyPair) -> None:
    done = specdesk("prove", "--target", quantized_pair.target)
    assert done.returncode == 2
    assert "--draft" in done.stderr


def test_nor_with_plain_decoding(pair: Sequence[object]) -> None:
    assert specdesk("prove", *pair, "-k", 0).returncode == 2


def test_a_context_too_small_for_its_prompts_is_said(pair: Sequence[object]) -> None:
    done = specdesk("prove", "--quick", "--threads", 1, "--ctx", 64, *pair)
    assert done.returncode == 2
    assert "the context holds 64" in lines(done.stderr)[-1]
    assert done.stdout == ""


def test_ctrl_c_says_so_and_gives_no_verdict(pair: Sequence[object]) -> None:
    with started("prove", *QUICK[2:], *pair) as process:
        assert process.stderr is not None
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 130
    assert lines(err)[-1] == "specdesk: stopped after 0 of 10 claims: no verdict"
    assert "--seed 1" not in out
