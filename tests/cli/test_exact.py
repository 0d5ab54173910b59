"""`specdesk run --exact`: what it answers, and what it says of the widths it found."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.cli.shell import answer, specdesk
from tests.tiny.gguf_models import TinyPair

PROMPT = ("--raw", "The quick brown fox", "-n", 60, "--seed", 5, "--exact")


@pytest.fixture
def pair(quantized_pair: TinyPair) -> Sequence[object]:
    return ("--target", quantized_pair.target, "--draft", quantized_pair.draft, "--threads", 1, "--ctx", 512)


@pytest.mark.parametrize("temperature", [0, 0.8])
def test_the_answer_is_the_plain_one(pair: Sequence[object], temperature: float) -> None:
    """Sampled too: in this mode the rule is coupled unless another is asked for."""
    plain, drafted = (answer(*PROMPT, *pair, "-t", temperature, "-k", k) for k in (0, 4))
    assert drafted["token_ids"] == plain["token_ids"]
    assert drafted["settings"]["verify"] == "coupled"
    assert max(drafted["stats"]["widths"]) == 5
    assert plain["stats"]["widths"] == [1]


def test_the_settings_say_what_was_found(pair: Sequence[object]) -> None:
    exact = answer(*PROMPT, *pair)["settings"]["exact"]
    assert exact["width"] == 9
    assert exact["n_ctx"] == 512
    assert set(exact["settings"]) == {"cache_type_k", "cache_type_v", "repack", "flash_attention"}
    assert answer(*PROMPT[:-1], *pair)["settings"]["exact"] is None


def test_another_rule_may_be_asked_for(pair: Sequence[object]) -> None:
    assert answer(*PROMPT, *pair, "--verify", "block")["settings"]["verify"] == "block"


def test_a_shorter_draft_than_asked_for_is_said(pair: Sequence[object]) -> None:
    done = specdesk("run", *PROMPT, *pair, "-k", 20)
    assert done.returncode == 0
    assert "up to 9 tokens" in done.stderr
    assert "at most 8 are drafted, not 20" in done.stderr


def test_no_width_at_all_is_said(tiny_pair: TinyPair) -> None:
    models = ("--target", tiny_pair.target, "--draft", tiny_pair.draft, "--threads", 1, "--ctx", 128)
    done = specdesk("run", *PROMPT, *models)
    assert done.returncode == 0
    assert "so decoding is plain" in done.stderr
    assert "plain decoding" in done.stderr.splitlines()[-1]
