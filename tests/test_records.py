"""A step as a line of the trace, and a whole answer as its last line: every figure by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from specdesk.cli.summary import summary_line
from specdesk.core.answer import Answer
from specdesk.core.events import (
    Alternative,
    AnswerToken,
    Delta,
    DraftedToken,
    Outcome,
    PromptRead,
    Source,
    Step,
    StopReason,
)
from specdesk.core.sampling import Sampling
from specdesk.core.tally import Tally
from specdesk.engine.client import AnswerOptions, EngineInfo, ModelInfo
from specdesk.records import answer_record, step_of, step_record
from specdesk.tokenview import spans
from specdesk.tui.token_details import details

INFO = EngineInfo(ModelInfo("Big", "big.gguf", 0), ModelInfo("Small", "small.gguf", 0), 256, 1)
ACCEPTED, REJECTED, IGNORED = Outcome.ACCEPTED, Outcome.REJECTED, Outcome.IGNORED
DRAFTED = Step(
    index=1,
    lookahead=4,
    reason="fixed",
    drafter="model",
    parity="by the rule",
    drafted=tuple(
        DraftedToken(i, f"d{i}", 0.5, None if outcome is IGNORED else 0.25, outcome)
        for i, outcome in enumerate((ACCEPTED, REJECTED, IGNORED, IGNORED))
    ),
    tokens=(AnswerToken(0, "d0", Source.ACCEPTED, 0.25, 0.5), AnswerToken(9, "r", Source.REPLACEMENT, 0.75, 0.0)),
    deltas=(),
    draft_s=0.1,
    target_s=0.2,
    step_s=0.4,
    plain_s=0.1,
)
PLAIN = Step(
    0, 0, "plain", None, "by nature", (), (AnswerToken(7, "p", Source.PLAIN, 1.0, 0.0),), (), 0.0, 0.1, 0.1, plain_s=0.1
)


def tally(*steps: Step) -> Tally:
    total = Tally()
    total.add(PromptRead(5, 5, 0, 0.5))
    for step in steps:
        total.add(step)
    return total


def test_a_drafted_step() -> None:
    record = step_record(DRAFTED, tally(PLAIN, DRAFTED), INFO)
    assert record["target_model"] == "big.gguf"
    assert record["draft_model"] == "small.gguf"
    assert record["acceptance_rate"] == 0.5
    # 2 tokens in 0.4 s, where a plain one takes 0.1 s.
    assert record["effective_latency_speedup"] == pytest.approx(0.5)
    assert record["distribution_parity"] == "by the rule"
    assert record["drafted_tokens"] == ["d0", "d1", "d2", "d3"]
    assert record["accepted_stream"] == ["d0", "r"]
    assert [token["p"] for token in record["drafted"]] == [0.25, 0.25, None, None]
    assert [token["decision"] for token in record["drafted"]] == ["accepted", "rejected", "ignored", "ignored"]


def test_a_line_is_a_step_again() -> None:
    """Through JSON and back; older lines do not tell what plain decoding takes."""
    tokens = tuple(
        replace(t, favoured=0.5, alternatives=(Alternative(9, "r", 0.75), Alternative(3, "�", 0.1)))
        for t in DRAFTED.tokens
    )
    deltas = (Delta("d0", Source.ACCEPTED, 0), Delta("r\n", Source.REPLACEMENT, 1))
    step = replace(DRAFTED, tokens=tokens, deltas=deltas)
    line = json.loads(json.dumps(step_record(step, tally(PLAIN, step), INFO)))
    assert step_of(line) == step
    del line["plain_s"]
    assert step_of(line) == replace(step, plain_s=None)


def places(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands in a record."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


@pytest.mark.parametrize("odd", [None, True, "x", "", -1, 10**30, 10**400, 1e300, [], {}, [{}], ["x"], "\ud800"])
def test_a_line_from_elsewhere_is_a_step_that_can_be_shown_or_none(odd: object) -> None:
    """Bug: a trace that was imported with a text for a number ended the chat when its answer was shown."""
    deltas = (Delta("d0", Source.ACCEPTED, 0), Delta("r", Source.REPLACEMENT, 1))
    tokens = tuple(replace(t, favoured=0.5, alternatives=(Alternative(9, "r", 0.75),)) for t in DRAFTED.tokens)
    good = step_record(replace(DRAFTED, tokens=tokens, deltas=deltas), tally(PLAIN, DRAFTED), INFO)
    for place in places(good):
        record = json.loads(json.dumps(good))
        at = record
        for key in place[:-1]:
            at = at[key]
        at[place[-1]] = odd
        try:
            step = step_of(record)
        except (LookupError, TypeError, ValueError, OverflowError):
            continue
        assert all(details(span) for span in spans(step, show_rejected=True, written=step.tokens) if span.whole), place


def test_a_plain_step_is_compared_with_nothing() -> None:
    record = step_record(PLAIN, tally(PLAIN, PLAIN), INFO)
    assert record["effective_latency_speedup"] is None
    assert record["acceptance_rate"] is None
    assert record["distribution_parity"] == "by nature"


def test_every_key_is_documented() -> None:
    text = (Path(__file__).parents[1] / "docs" / "records.md").read_text(encoding="utf-8")
    line = step_record(DRAFTED, tally(PLAIN, DRAFTED), INFO)
    whole = answer_record(Answer(), None, INFO, AnswerOptions(Sampling(), seed=1))
    of_line, of_object = text.split("## The object of --json")
    keys = {*line, *line["drafted"][0], *line["written"][0]}
    assert [key for key in sorted(keys) if f"`{key}`" not in of_line] == []
    keys = {*whole, *whole["settings"], *whole["stats"]}
    assert [key for key in sorted(keys) if f"`{key}`" not in of_object] == []


def test_the_last_line_of_a_slow_answer() -> None:
    line = summary_line(tally(*[PLAIN] * 4, *[DRAFTED] * 10), StopReason.LENGTH)
    assert line == (
        "24 tokens | 1.71 per target pass | accepted 10 of 20 (50%), 20 of 40 drafted ignored | 5.5 tokens/s | "
        "speedup 0.55x against plain decoding (10.0 tokens/s): slower than plain, here; "
        "lookahead 0 is plain | cut at the token limit"
    )


def test_the_last_line_of_a_fast_answer_has_no_advice() -> None:
    line = summary_line(tally(*[PLAIN] * 4, *[replace(DRAFTED, step_s=0.1)] * 10), StopReason.EOG)
    assert line.endswith("speedup 1.71x against plain decoding (10.0 tokens/s)")


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        (StopReason.EOG, "plain decoding"),
        (StopReason.STOP, "ended at a stop string"),
        (StopReason.LENGTH, "cut at the token limit"),
        (StopReason.CONTEXT, "cut: the context is full"),
        (StopReason.CANCELLED, "stopped"),
    ],
)
def test_how_it_ended(reason: StopReason, said: str) -> None:
    assert summary_line(tally(PLAIN), reason).split(" | ")[-1] == said


def test_too_short_to_judge() -> None:
    assert "speedup - (too short to judge)" in summary_line(tally(DRAFTED), StopReason.EOG)


def test_one_token_is_one_token() -> None:
    assert summary_line(tally(PLAIN), StopReason.EOG).startswith("1 token |")
