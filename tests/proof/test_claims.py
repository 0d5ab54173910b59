"""`prove` on a tiny Q8_0 pair: every claim holds, and each fault in the algorithm breaks the claim that is about it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import cast

import pytest

from specdesk.core import rules, verify
from specdesk.core.answer import Answer
from specdesk.core.chance import Chance, Dice, GumbelNoise
from specdesk.core.events import Event
from specdesk.core.interrupted import Interrupted
from specdesk.core.names import RuleName
from specdesk.core.verify import DraftToken, TargetAt, Verdict
from specdesk.core.warp import Distribution
from specdesk.engine import invariance
from specdesk.engine.client import AnswerOptions, Engine, Message
from specdesk.engine.loaded import LoadedPair
from specdesk.engine.stop import StopFlag
from specdesk.proof import claims
from specdesk.proof.asking import Effort, answer, turns
from specdesk.proof.claims import Claim
from specdesk.proof.run import effort, prove
from specdesk.proof.uniformity import placed
from specdesk.settings import EngineSettings
from tests.tiny.gguf_models import TinyPair

Load = Callable[[bool], Engine]
EFFORT = Effort(("Hello", "What is a lighthouse?", "Count to ten."), 40, 3000, 500, 2, 7)


@pytest.fixture
def load(quantized_pair: TinyPair) -> Iterator[Load]:
    """Opens pairs in this process, where a rule can be broken."""
    with ExitStack() as engines:

        def opened(exact: bool) -> Engine:
            settings = EngineSettings(quantized_pair.target, quantized_pair.draft, 2048, n_threads=1, exact=exact)
            return cast(Engine, engines.enter_context(LoadedPair(settings, lambda _: None, StopFlag())))

        yield opened


def faults(found: Sequence[Claim]) -> list[str]:
    return [claim.name for claim in found if claim.verdict is claims.Verdict.FAULT]


def test_every_claim_holds(load: Load) -> None:
    found = list(prove(load, EFFORT))
    assert faults(found) == []
    assert len(found) == 1 + 3 + 2 + 1 + 3
    assert {claim.verdict for claim in found} == {claims.Verdict.HOLDS}
    assert found[0].figures["widths"][-1] == 3
    assert found[0].figures["answers"] == 2 * len(EFFORT.prompts)


def test_without_exact_mode_its_claims_are_not_tried(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invariance, "MAX_WIDTH", 1)
    found = list(prove(load, EFFORT))
    assert [claim.verdict for claim in found] == [claims.Verdict.NOT_TRIED] + [claims.Verdict.HOLDS] * 4


@pytest.mark.parametrize("rule", [RuleName.REJECTION, RuleName.BLOCK])
def test_a_wrong_residual_is_found(load: Load, monkeypatch: pytest.MonkeyPatch, rule: RuleName) -> None:
    monkeypatch.setattr(verify, "residual", lambda p, q, weight=1.0: p)
    with load(True) as engine:
        found = list(claims.draws_follow_their_laws(engine, EFFORT, "exact mode"))
    assert f"exact mode: draws under {rule} follow the target's laws" in faults(found)
    assert not any("coupled" in name for name in faults(found))


@pytest.mark.parametrize("rule", [RuleName.REJECTION, RuleName.BLOCK])
def test_a_wrong_residual_is_found_in_the_default_mode_too(
    load: Load, monkeypatch: pytest.MonkeyPatch, rule: RuleName
) -> None:
    monkeypatch.setattr(verify, "residual", lambda p, q, weight=1.0: p)
    with load(False) as engine:
        found = list(claims.draws_follow_their_laws(engine, EFFORT, "default mode"))
    assert f"default mode: draws under {rule} follow the target's laws" in faults(found)


def accept_all(drafts: Sequence[DraftToken], target_at: TargetAt, chance: Chance) -> Verdict:
    tests = (
        verify.TestedToken(draft.token, target_at(at).prob(draft.token), draft.q.prob(draft.token), accepted=True)
        for at, draft in enumerate(drafts)
    )
    last = target_at(len(drafts))
    token = chance.draw(last)
    return Verdict(tuple(tests), token, last.prob(token))


def test_drafts_that_are_not_verified_are_no_ties(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "rejection", accept_all)
    monkeypatch.setattr(rules, "block", accept_all)
    with load(False) as engine:
        claim = claims.differs_only_in_ties(engine, EFFORT)
    assert claim.verdict is claims.Verdict.FAULT
    assert "FAULT" in claim.summary
    closes = [found["close"] for found in claim.figures["differences"] if found["close"] is not None]
    assert any(close["gap"] > 2 * close["moved"] for close in closes)
    with load(True) as engine:
        claim = claims.same_as_plain(engine, EFFORT)
    assert claim.verdict is claims.Verdict.FAULT
    assert claim.figures["different"]


def test_noise_that_depends_on_the_block_is_found(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    choose = GumbelNoise.choose
    calls = iter(range(10**9))

    def drifting(self: GumbelNoise, law: Distribution, position: int) -> int:
        return choose(self, law, position + (next(calls) % 50 == 49))

    monkeypatch.setattr(GumbelNoise, "choose", drifting)
    with load(True) as engine:
        assert claims.same_as_plain(engine, EFFORT).verdict is claims.Verdict.FAULT


def test_a_tie_is_called_one(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two answers that part at the two likeliest tokens, with rounding said to be larger than their gap."""
    asked: list[int] = []

    def parting(engine: Engine, prompt: str, options: AnswerOptions) -> Answer:
        asked.append(options.lookahead or 0)
        found = answer(engine, prompt, options)
        if options.lookahead and len(asked) == 2:
            found.token_ids[5:] = [found.token_ids[5] ^ 1]
        return found

    monkeypatch.setattr("specdesk.proof.claims.answer", parting)
    with load(False) as engine:
        fault = claims.differs_only_in_ties(engine, EFFORT)
        (found,) = fault.figures["differences"]
        assert found["token"] == 5
        assert fault.figures["flips_per_1000"] == pytest.approx(1000 / fault.figures["tokens"])
        close = replace(engine.closeness(turns("Hello"), [70], 0, (71, 72), 3), gap=0.5, moved=0.25)
        asked.clear()
        monkeypatch.setattr(engine, "closeness", lambda *_: close)
        tie = claims.differs_only_in_ties(engine, EFFORT)
    assert tie.verdict is claims.Verdict.HOLDS
    assert "numerical tie, 0.500 between the two, which rounding moves by 0.250" in tie.summary


def test_a_stopped_run_proves_nothing(quantized_pair: TinyPair) -> None:
    stop = StopFlag()
    with Engine(
        EngineSettings(quantized_pair.target, quantized_pair.draft, 512, n_threads=1), lambda _: None, stop
    ) as engine:
        stop.set()
        with pytest.raises(Interrupted):
            claims.same_as_plain(engine, EFFORT)


def test_plans() -> None:
    quick, whole = (effort(quick=quick, lookahead=3, seed=1) for quick in (True, False))
    assert len(whole.prompts) == 20
    assert whole.n_tokens == 128
    assert set(quick.prompts) < set(whole.prompts)


def test_beginnings_from_another_law_are_found(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    """Consistent in itself, and so unseen by the test of draws: the speculative side samples at another temperature."""
    chat = LoadedPair.chat

    def colder_when_drafting(self: LoadedPair, messages: Sequence[Message], options: AnswerOptions) -> Iterator[Event]:
        colder = replace(options, sampling=replace(options.sampling, temperature=0.2))
        return chat(self, messages, colder if options.lookahead else options)

    monkeypatch.setattr(LoadedPair, "chat", colder_when_drafting)
    with load(True) as engine:
        assert len(faults(list(claims.draws_are_as_plain(engine, EFFORT)))) == 2


def test_the_random_numbers_of_the_test_are_not_those_of_an_answer() -> None:
    intervals = [(0.0, 1.0)] * 8
    ours = list(placed(intervals, 7))
    for number in range(50):
        rule = rules.rule_of(RuleName.REJECTION, 7, number)
        assert isinstance(rule, rules.ByChance)
        assert isinstance(rule._chance, Dice)
        assert list(rule._chance._rng.random(8)) != ours


def test_tests_share_the_odds_of_a_false_alarm(load: Load) -> None:
    """Two for each rule, and one for each whose answers can only be compared by their distribution."""
    small = replace(EFFORT, n_draws=100, n_answers=5)
    with load(True) as engine:
        law, *_ = claims.draws_follow_their_laws(engine, small, "exact mode")
        begins, *_ = claims.draws_are_as_plain(engine, small)
    share = small.false_alarms / (2 * 3 + 2)
    assert law.figures["bound"] == pytest.approx((math.log(2 / share) / 200) ** 0.5)
    assert begins.figures["bound"] == min(1.0, ((1 - math.log(share)) / 5) ** 0.5)
