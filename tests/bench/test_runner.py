"""Measuring on a tiny pair: rows that add up, and runs that find nothing warm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import cast

import pytest

from specdesk.bench.rows import Mode, Row, by_position
from specdesk.bench.runner import Effort, measure
from specdesk.bench.tasks import Prompt
from specdesk.core.costs import PairCosts
from specdesk.core.events import DraftedToken, Event, Outcome, PromptRead, Step
from specdesk.core.interrupted import Interrupted
from specdesk.core.sampling import Sampling
from specdesk.engine.client import AnswerOptions, Engine, Message, StopFlag
from specdesk.engine.loaded import LoadedPair
from specdesk.errors import UsageError
from specdesk.settings import EngineSettings
from tests.tiny.gguf_models import TinyPair

HELLO = Prompt("hello", "chat", ("Hello, how are you?",))
TALK = Prompt("talk", "story", ("Tell me something.", "Go on."))
EFFORT = Effort((HELLO, TALK), Sampling(0.0), 1, 4, 24, 2)


@pytest.fixture
def engine(quantized_pair: TinyPair) -> Iterator[Engine]:
    with Engine(settings(quantized_pair), lambda _: None, StopFlag()) as engine:
        yield engine


def settings(pair: TinyPair) -> EngineSettings:
    return EngineSettings(pair.target, pair.draft, 512, n_threads=1)


def rows_of(engine: Engine, effort: Effort = EFFORT) -> list[Row]:
    return list(measure(engine, effort, lambda _: None))


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("lookahead", [None, 3])
def test_rows_add_up(engine: Engine, temperature: float, lookahead: int | None) -> None:
    effort = replace(EFFORT, sampling=Sampling(temperature), lookahead=lookahead)
    rows = rows_of(engine, effort)
    assert len(rows) == effort.n_answers == 12
    for row in rows:
        assert row.drafted == row.accepted + row.rejected + row.ignored == sum(row.record()["lookahead_k"])
        assert row.accepted == sum(accepted for _, accepted in row.by_position)
        assert row.accepted + row.rejected == sum(tested for tested, _ in row.by_position)
        assert row.generated_tokens == len(row.token_ids) == sum(step.n_written for step in row.steps)
        assert row.generated_tokens == 24 or row.stop_reason == "eog"
        assert sum(row.shares) == pytest.approx(1.0)
        assert min(row.shares) > 0.0
        assert row.tokens_per_pass == pytest.approx(row.generated_tokens / row.record()["target_passes"])
    plain = [row for row in rows if row.mode is Mode.PLAIN]
    assert all(row.drafted == 0 and len(row.steps) == row.generated_tokens for row in plain)
    if lookahead is not None:
        assert all(row.drafted for row in rows if row.mode is Mode.SPECULATIVE)


def test_modes_take_turns_and_whole_conversations_are_had(engine: Engine) -> None:
    said: list[str] = []
    order = [(row.prompt, row.round, row.mode.value, row.turn) for row in measure(engine, EFFORT, said.append)]
    assert order == [
        *(("hello", number, mode, 0) for number in (0, 1) for mode in ("plain", "speculative")),
        *(("talk", number, mode, turn) for number in (0, 1) for mode in ("plain", "speculative") for turn in (0, 1)),
    ]
    assert said[0] == "chat, hello: reading the prompt"
    assert said[4] == "chat, hello: speculative, round 2 of 2"


def test_no_run_finds_anything_warm_but_the_prompt_and_all_find_that(
    quantized_pair: TinyPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also behind an answer whose agreement was asked for, which reads all of it with the draft model."""
    seen: list[tuple[int, int, bool]] = []
    chat = LoadedPair.chat

    def watched(self: LoadedPair, messages: Sequence[Message], options: AnswerOptions) -> Iterator[Event]:
        session = self._session
        assert session.draft is not None
        cached = len(session.draft.ids)
        assert session._costs is not None
        learned = bool(session._acceptance._counts or session._suffix._index.text or session._costs._drift)
        for event in chat(self, messages, options):
            if isinstance(event, PromptRead) and options.max_tokens != 1 and len(messages) == 1:
                assert event.n_reused == event.n_read == event.n_total - 1
            if isinstance(event, Step) and event.index == 0 and options.max_tokens != 1:
                seen.append((len(messages), cached, learned))
            yield event

    monkeypatch.setattr(LoadedPair, "chat", watched)
    # In this process, so that its caches can be looked at.
    with LoadedPair(settings(quantized_pair), lambda _: None, StopFlag()) as pair:
        rows = rows_of(cast(Engine, pair))
    assert any(row.accepted for row in rows)
    assert len(seen) == len(rows)
    assert [found for found in seen if found[0] == 1] == [(1, 0, False)] * 8
    # Within a conversation the draft keeps what it read, as in a chat.
    assert sorted({cached > 0 for turns, cached, _ in seen if turns == 3}) == [False, True]


def test_repetitions_draft_the_same(engine: Engine) -> None:
    """With a fixed lookahead nothing but what is warm could make a difference."""
    rows = [row for row in rows_of(engine) if row.mode is Mode.SPECULATIVE]
    for one in rows:
        (other,) = (row for row in rows if (row.prompt, row.turn, row.round) == (one.prompt, one.turn, 1 - one.round))
        assert one.steps == other.steps
        assert one.token_ids == other.token_ids


def test_regret_of_answers_behind_a_cold_draft(engine: Engine) -> None:
    rows = rows_of(engine)
    known = [row for row in rows if row.regret is not None]
    assert [(row.prompt, row.mode) for row in known] == [("hello", Mode.SPECULATIVE)] * 2
    for row in known:
        assert row.regret is not None
        assert row.regret.oracle_s <= min(seconds for _, seconds in row.regret.fixed_s)
        assert row.regret.ran_s > 0


def test_greedy_agreement_is_what_decoding_accepts(engine: Engine) -> None:
    """Each tested draft token of the answer stood if the draft model agrees there, but for ties; here are none."""
    (row,) = (row for row in rows_of(engine, replace(EFFORT, prompts=(HELLO,), rounds=1)) if row.regret is not None)
    stands = engine.agreement([Message("user", HELLO.turns[0])], row.token_ids, EFFORT.sampling)
    assert stands is not None
    at = 0
    for step in row.steps:
        run = stands[at : at + step.n_drafted]
        stood = next((i for i, p in enumerate(run) if p == 0.0), len(run))
        assert step.n_accepted == stood
        at += step.n_written


def test_without_a_draft_model_text_seen_before_is_measured(quantized_pair: TinyPair) -> None:
    with Engine(EngineSettings(quantized_pair.target, None, 512, n_threads=1), lambda _: None, StopFlag()) as engine:
        rows = rows_of(engine, replace(EFFORT, prompts=(Prompt("again", "edit", ("ab cd ab cd ab cd ab",)),)))
        assert engine.agreement([Message("user", "x")], [1], Sampling()) is None
    assert len(rows) == 4
    assert all(row.regret is None for row in rows)
    assert {step.drafter for row in rows for step in row.steps} <= {None, "suffix"}


def test_a_conversation_that_may_not_fit_is_refused_before_anything(engine: Engine) -> None:
    with pytest.raises(UsageError, match="talk and its answers may have"):
        next(measure(engine, replace(EFFORT, max_tokens=230), lambda _: None))


def test_half_an_answer_is_no_row(quantized_pair: TinyPair) -> None:
    stop = StopFlag()
    with Engine(settings(quantized_pair), lambda _: None, stop) as engine:
        found = measure(engine, EFFORT, lambda _: None)
        next(found)
        stop.set()
        with pytest.raises(Interrupted):
            next(found)


def test_the_costs_that_were_measured_are_told(engine: Engine) -> None:
    assert isinstance(engine.info.costs, PairCosts)
    assert engine.info.costs.draft is not None


def test_positions_count_tested_tokens() -> None:
    def step(*outcomes: Outcome) -> Step:
        drafted = tuple(DraftedToken(1, "x", 1.0, None, outcome) for outcome in outcomes)
        return Step(0, len(drafted), "", None, "", drafted, (), (), 0.0, 0.0, 0.0)

    good, bad, unseen = Outcome.ACCEPTED, Outcome.REJECTED, Outcome.IGNORED
    assert by_position([step(good, bad, unseen), step(), step(good), step(bad, unseen)]) == ((3, 2), (1, 0))
    assert by_position([step(), step(unseen)]) == ()
