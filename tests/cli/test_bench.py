"""`specdesk bench` from the shell."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.console import Console

from specdesk.bench.report import Spread, Summary, cells
from specdesk.cli.bench_output import check_writable, print_table
from specdesk.errors import StorageError
from tests.cli.shell import TIMEOUT_S, lines, specdesk
from tests.tiny.gguf_models import TinyPair

TASKS = ["code", "edit", "json", "maths", "chat", "summary", "translation", "story", "retrieval"]
ONE = '{"id": 1, "category": "greeting", "turns": ["Hello"]}\n'


@pytest.fixture
def pair(quantized_pair: TinyPair) -> Sequence[object]:
    return ("--target", quantized_pair.target, "--draft", quantized_pair.draft, "--threads", 1)


def test_quick_measures_one_prompt_of_each_task(pair: Sequence[object], tmp_path: Path) -> None:
    data, page = tmp_path / "found.json", tmp_path / "found.html"
    done = specdesk("bench", "--quick", *pair, "--ctx", 8192, "--json", data, "--html", page)
    assert done.returncode == 0, done.stderr
    heading, *tasks, mean = lines(done.stdout)
    assert heading.split()[:2] == ["task", "speedup"]
    assert [line.split()[0] for line in tasks] == TASKS
    assert mean.endswith("x, the geometric mean over 9 tasks")
    found = json.loads(data.read_text(), parse_constant=pytest.fail)
    assert found["complete"] is True
    assert [task["task"] for task in found["tasks"]] == TASKS
    assert len(found["rows"]) == 2 * len(TASKS)
    assert {row["mode"] for row in found["rows"]} == {"plain", "speculative"}
    assert all(row["generated_tokens"] <= 64 and row["seed"] == 1 for row in found["rows"])
    assert found["settings"]["lookahead"] == "auto"
    assert found["settings"]["temperature"] == 0.0
    assert found["costs"]["target"]["sizes"][0] == 1
    assert found["engine"]["target"]["file"] == "target.gguf"
    assert found["machine"]["cpus"] > 0
    assert page.read_text().startswith("<!DOCTYPE html>")


def test_prompts_of_ones_own(pair: Sequence[object], tmp_path: Path) -> None:
    prompts, data = tmp_path / "own.jsonl", tmp_path / "found.json"
    prompts.write_text(ONE + '{"id": 2, "category": "other", "turns": ["Hello", "Again"]}')
    options = ("--prompts", prompts, "--task", "other", "-n", 10, "-k", 2, "--rounds", 3, "-t", 1, "--seed", 5)
    done = specdesk("bench", *pair, "--ctx", 512, *options, "--json", data)
    assert done.returncode == 0, done.stderr
    found = json.loads(data.read_text())
    assert [row["turn"] for row in found["rows"]] == [0, 1] * 6
    assert {(row["task"], row["prompt"], row["seed"]) for row in found["rows"]} == {("other", "2", 5)}
    assert max(max(row["lookahead_k"]) for row in found["rows"]) == 2


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("-k", "0"), 2, "nothing to compare"),
        (("--task", "poetry"), 2, "no task 'poetry'"),
        (("--task", ""), 2, "empty"),
        (("--prompts", "none.jsonl"), 2, "none.jsonl"),
        (("-t", "-1"), 2, "-1"),
        (("--rounds", "0"), 2, "not 0"),
        (("-n", "0"), 2, "not 0"),
        (("--json", "nowhere/found.json"), 5, "nowhere/found.json"),
        (("--html", "."), 5, "cannot write"),
        (("--html", "TARGET"), 2, "model file"),
        (("--ctx", "64"), 2, "the context holds 64"),
    ],
)
def test_what_cannot_be_done_is_said_at_once(
    pair: Sequence[object], options: tuple[str, ...], code: int, said: str
) -> None:
    done = specdesk("bench", *pair, *(pair[1] if option == "TARGET" else option for option in options))
    assert (done.returncode, done.stdout) == (code, "")
    assert said in lines(done.stderr)[-1]


def test_a_report_that_cannot_be_written_does_not_cost_the_others(pair: Sequence[object], tmp_path: Path) -> None:
    prompts, page = tmp_path / "own.jsonl", tmp_path / "found.html"
    prompts.write_text(ONE)
    options = ("--prompts", prompts, "--ctx", 512, "--rounds", 1, "-n", 4)
    done = specdesk("bench", *pair, *options, "--json", "/dev/full", "--html", page)
    assert done.returncode == 5
    assert lines(done.stderr)[-1] == "specdesk: cannot write /dev/full: No space left on device"
    assert lines(done.stdout)[1].split()[0] == "greeting"
    assert page.read_text().startswith("<!DOCTYPE html>")


def test_what_a_link_points_to_is_written_and_the_link_stays(tmp_path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "not yet")
    check_writable(link, None)
    assert link.is_symlink()
    assert not link.exists()


def test_a_pipe_is_refused_in_words(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StorageError, match=r"pipe: .*(seek|regular)"):
        check_writable(tmp_path / "pipe", None)


@pytest.mark.parametrize("width", [140, 80, 40])
def test_no_figure_is_cut_off_where_the_terminal_is_narrow(width: int) -> None:
    found = [
        Summary(
            "a long task of one's own", 3, Spread(12.25, 11.75, 13.5), 4567.8, 12.34, 2300, 2345, 14.6,
            (0.4, 0.5, 0.1), 1.01, 2.02,
        ),
    ]  # fmt: skip
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    print_table(console, found)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "\u2026" not in shown
    assert all(cell in shown for cell in cells(found[0]))
    assert (len(shown.splitlines()) == 2) == (width == 140)


def test_ctrl_c_keeps_what_was_measured(pair: Sequence[object], tmp_path: Path) -> None:
    """The command itself, which presses it once four answers are there."""
    prompts, data = tmp_path / "own.jsonl", tmp_path / "found.json"
    prompts.write_text(ONE)
    args = ["bench", *pair, "--prompts", prompts, "--ctx", 512, "--rounds", 1000, "-n", 20, "--json", data]
    pressing = (
        "import os, signal, sys\n"
        "from specdesk.cli.console import Waiting\n"
        "def now(self, what):\n"
        "    if what.startswith('4 of 2000'):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "Waiting.now = now\n"
        "from specdesk.__main__ import main\n"
        f"sys.argv = ['specdesk', *{[str(arg) for arg in args]!r}]\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", pressing],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 130, done.stderr
    assert lines(done.stdout)[1].split()[0] == "greeting"
    found = json.loads(data.read_text())
    assert found["complete"] is False
    n_rows = len(found["rows"])
    assert 4 <= n_rows < 2000
    assert lines(done.stderr)[-1] == f"specdesk: stopped after {n_rows} of 2000 answers"


def test_help_tells_all_of_it() -> None:
    done = specdesk("bench", "--help", env={"COLUMNS": "120"})
    assert done.returncode == 0
    for option in (
        "--task", "--prompts", "--quick", "--rounds", "--max-tokens", "--temperature", "--lookahead", "--seed",
        "--json", "--html", "--target", "--draft", "--ctx", "--threads", "--gpu-layers",
    ):  # fmt: skip
        assert option in done.stdout
