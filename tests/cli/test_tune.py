"""`specdesk tune` from the shell."""

from __future__ import annotations

import json
import signal
from collections.abc import Sequence

import pytest

from specdesk.paths import profiles_dir, tuned_dir
from tests.cli.shell import TIMEOUT_S, lines, specdesk, started
from tests.tiny.gguf_models import TinyPair

ONE_THREAD = ("--threads", 1, "--ctx", 512)


@pytest.fixture
def pair(tiny_pair: TinyPair) -> Sequence[object]:
    return ("--target", tiny_pair.target, "--draft", tiny_pair.draft)


def test_the_report(pair: Sequence[object]) -> None:
    done = specdesk("tune", *ONE_THREAD, *pair)
    assert done.returncode == 0, done.stderr
    said = lines(done.stdout)
    assert said[0].split()[0] == "Draft"
    assert [line.split("  ")[0] for line in said[1:4]] == ["as given", "Q4_0", "Q8_0"]
    assert "nothing changed: the files and settings as given are the fastest" in said or any(
        line.startswith("changed: ") and line.endswith("specdesk tune --undo takes it back") for line in said
    )
    assert "about" in lines(done.stderr)[0]


def test_as_json(pair: Sequence[object]) -> None:
    done = specdesk("tune", *ONE_THREAD, *pair, "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert [tried["format"] for tried in report["formats"]] == [None, "Q4_0", "Q8_0"]
    assert [tried["n_threads"] for tried in report["threads"]] == [1]
    assert report["changed"] == any(value is not None for value in report["tuned"].values())


def test_undo_of_nothing_is_no_error(pair: Sequence[object]) -> None:
    done = specdesk("tune", "--undo", *pair)
    assert (done.returncode, done.stdout) == (0, "nothing was tuned for this pair\n")
    assert json.loads(specdesk("tune", "--undo", "--json", *pair).stdout) == {"removed": []}


def test_undo_fetches_nothing() -> None:
    done = specdesk("tune", "--undo")
    assert done.returncode == 3
    assert "specdesk download" in done.stderr


def test_without_a_draft_there_is_nothing_to_tune(tiny_pair: TinyPair) -> None:
    done = specdesk("tune", "--target", tiny_pair.target)
    assert done.returncode == 2
    assert "--draft" in done.stderr


def test_a_file_that_is_no_model(pair: Sequence[object], tiny_pair: TinyPair) -> None:
    assert specdesk("tune", "--target", tiny_pair.target, "--draft", __file__).returncode == 3


def test_ctrl_c_says_so_and_leaves_nothing(pair: Sequence[object]) -> None:
    with started("tune", *ONE_THREAD, *pair) as process:
        assert process.stderr is not None
        assert "about" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, out) == (130, "")
    assert lines(err)[-1] == "specdesk: stopped: nothing was changed"
    assert not tuned_dir().exists() or list(tuned_dir().iterdir()) == []
    assert list(profiles_dir().glob("tuned-*")) == []
