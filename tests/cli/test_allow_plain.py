"""A draft that cannot be used: an error, or with --allow-plain a plain answer that says why."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.shell import lines, specdesk
from tests.tiny.gguf_models import BYTES, DRAFT, MAMBA, TinyPair, write

SHORT = ("--raw", "--threads", 1, "--ctx", 256, "-t", 0, "-k", 4, "-n", 24)


@pytest.fixture(params=["gone", "broken", "other tokens"])
def draft(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "draft.gguf"
    if request.param == "broken":
        path.write_bytes(b"GGUF" + b"\0" * 100)
    elif request.param == "other tokens":
        write(path, replace(DRAFT, vocabulary=BYTES.swapped(100, 101)))
    return path


def test_it_is_an_error(tiny_pair: TinyPair, draft: Path) -> None:
    done = specdesk("run", "Once", *SHORT, "--target", tiny_pair.target, "--draft", draft)
    assert (done.returncode, done.stdout) == (3, "")
    assert "draft.gguf" in done.stderr


def test_with_the_option_it_is_a_notice(tiny_pair: TinyPair, draft: Path) -> None:
    models = ("--target", tiny_pair.target, "--draft", draft, "--allow-plain")
    done = specdesk("run", "Once", *SHORT, *models, "--json")
    assert done.returncode == 0, done.stderr
    (said,) = [line for line in lines(done.stderr) if "running without speculation: " in line]
    assert "draft.gguf" in said
    record = json.loads(done.stdout)
    assert record["draft"] is None
    assert record["settings"]["most_drafted"] == record["stats"]["drafted"] == 0
    assert record["settings"]["drafts_limited_by"] in said
    plain = specdesk("run", "Once", *SHORT, "-k", 0, "--target", tiny_pair.target, "--json")
    assert record["token_ids"] == json.loads(plain.stdout)["token_ids"]


def test_a_target_that_cannot_speculate_answers_plainly_and_says_so(tmp_path: Path) -> None:
    target = write(tmp_path / "mamba.gguf", MAMBA)
    done = specdesk("run", "Once", *SHORT, "--target", target)
    assert done.returncode == 0, done.stderr
    assert "running without speculation: the target keeps a running state (recurrent)" in done.stderr
    asked_plainly = specdesk("run", "Once", *SHORT, "-k", 0, "--target", target)
    assert "without speculation" not in asked_plainly.stderr
    assert done.stdout == asked_plainly.stdout
