"""What is said of two answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from specdesk.core.costs import PairCosts
from specdesk.core.events import Event, Finished, Step, StopReason
from specdesk.core.names import RuleName
from specdesk.core.sampling import Sampling
from specdesk.core.tally import MIN_TOKENS
from specdesk.engine.cache_settings import CacheSettings, Invariance
from specdesk.engine.client import AnswerOptions, EngineInfo, Message
from specdesk.errors import GenerationError
from specdesk.memory import CacheType
from specdesk.tui.comparing.comparison import Half, Halves, Way, drafting, parting, sameness, speedup, unsteady, verdict
from specdesk.tui.comparing.in_turn import Comparing
from specdesk.tui.conversation import Request
from tests.toy.costs import flat
from tests.tui.compared import WORDS, drafted, numbered, plain
from tests.tui.scripted import DRAFT, END, TARGET, prompt_read, step

INFO = EngineInfo(TARGET, DRAFT, 4096, 2)
EXACT = replace(INFO, exact=Invariance(CacheSettings(CacheType.F16, CacheType.F16, repack=True), 3, 4096))
OPTIONS = AnswerOptions(Sampling(temperature=0.7), 1)
STOPPED = Finished(StopReason.CANCELLED, ())


def half(events: Sequence[Event], *, end: Event | None = END, options: AnswerOptions = OPTIONS) -> Half:
    found = Half(Request((Message("user", "go"),), options))
    for event in [prompt_read(), *events, *([end] if end is not None else [])]:
        found.add(event)
    return found


def halves(one: Sequence[Event], other: Sequence[Event], options: AnswerOptions = OPTIONS) -> Halves:
    return {Way.PLAIN: half(one, options=options), Way.SPECULATIVE: half(other, options=options)}


def timed(n: int, step_s: float, *, drafted: bool = False, plain_s: float = 0.04) -> list[Step]:
    return numbered(
        *(step([], f"w{i} ", rejected=["x"] if drafted else [], step_s=step_s, plain_s=plain_s) for i in range(n))
    )


class TestSpeedup:
    @pytest.mark.parametrize(
        ("plain_s", "speculative_s", "found", "meaning"),
        [
            (0.04, 0.02, 2.0, "faster than plain, measured"),
            (0.04, 0.0401, 0.998, "as fast as plain, measured"),
            (0.04, 0.05, 0.8, "slower than plain, measured"),
        ],
    )
    def test_is_measured(self, plain_s: float, speculative_s: float, found: float, meaning: str) -> None:
        both = halves(timed(20, plain_s), timed(20, speculative_s, drafted=True))
        assert speedup(both) == pytest.approx(found, abs=1e-3)
        assert verdict(both).startswith(meaning)
        assert ("lookahead 0" in verdict(both)) == (found == 0.8)

    def test_counts_tokens_where_there_are_more_of_one(self) -> None:
        both = halves(timed(20, 0.04), timed(40, 0.02, drafted=True))
        assert speedup(both) == pytest.approx(2.0)
        assert verdict(both).endswith("per token")

    def test_of_what_came_before_a_stop(self) -> None:
        both = {Way.PLAIN: half(timed(20, 0.04)), Way.SPECULATIVE: half(timed(16, 0.02), end=STOPPED)}
        assert speedup(both) == pytest.approx(2.0)

    @pytest.mark.parametrize("counts", [(MIN_TOKENS - 1, 50), (50, MIN_TOKENS - 1), (0, 0)])
    def test_is_absent_where_there_is_too_little(self, counts: tuple[int, int]) -> None:
        both = halves(timed(counts[0], 0.04), timed(counts[1], 0.02))
        assert speedup(both) is None
        assert "too little to judge" in verdict(both)

    def test_is_the_machines_where_nothing_was_drafted(self) -> None:
        both = halves(timed(20, 0.04), timed(20, 0.05))
        assert speedup(both) == pytest.approx(0.8)
        assert "both were plain decoding" in verdict(both)

    @pytest.mark.parametrize(
        ("plain_s", "speculative_s", "begins"),
        [
            (0.04, 0.04, ""),
            (0.04, 0.045, ""),
            (0.04, 0.08, "a pass took 2.0 times as long in the speculative run"),
            (0.06, 0.04, "a pass took 1.5 times as long in the plain run"),
        ],
    )
    def test_a_machine_that_was_busy_in_one_run_is_named(
        self, plain_s: float, speculative_s: float, begins: str
    ) -> None:
        both = halves(timed(20, 0.04, plain_s=plain_s), timed(20, 0.05, plain_s=speculative_s, drafted=True))
        assert unsteady(both).partition(":")[0] == begins
        assert unsteady(halves(timed(3, 0.04, plain_s=1.0), timed(3, 0.05))) == ""

    def test_does_not_divide_by_a_clock_that_stands(self) -> None:
        assert speedup(halves(timed(20, 0.0), timed(20, 0.02))) is None


class TestSameness:
    def test_the_same(self) -> None:
        both = halves(plain(*WORDS), drafted(*WORDS))
        assert parting(both) is None
        assert sameness(both, INFO) == "the same text, token for token (20 tokens)"

    def test_nothing_yet(self) -> None:
        assert sameness(halves([], drafted(*WORDS)), INFO) == ""

    @pytest.mark.parametrize("n", [1, 16, 20])
    def test_as_far_as_a_stopped_one_came(self, n: int) -> None:
        both = {Way.PLAIN: half(plain(*WORDS[:n]), end=STOPPED), Way.SPECULATIVE: half(drafted(*WORDS))}
        assert sameness(both, INFO) == f"the same text, token for token, as far as both came ({n} tokens)"

    def test_as_far_as_a_failed_one_came(self) -> None:
        failed = half(plain(*WORDS[:7]), end=None)
        failed.error = GenerationError("llama.cpp failed")
        assert "as far as both came (7 tokens)" in sameness(
            {Way.PLAIN: half(plain(*WORDS)), Way.SPECULATIVE: failed}, INFO
        )

    def test_equal_texts_of_other_tokens_are_not_the_same(self) -> None:
        both = halves(plain("ab", "c"), plain("a", "bc"))
        assert parting(both) == 0
        assert sameness(both, INFO).startswith("the texts part at token 1: plain wrote ‹ab›, speculation wrote ‹a›")

    def test_one_ends_before_the_other(self) -> None:
        both = halves(plain("a", "b"), plain("a", "b", "c"))
        assert "at token 3: plain ended, speculation wrote ‹c›" in sameness(both, INFO)

    @pytest.mark.parametrize(
        ("rule", "temperature", "exact", "words"),
        [
            (RuleName.BLOCK, 0.7, False, "the block rule uses other random numbers"),
            (RuleName.BLOCK, 0.7, True, "the block rule uses other random numbers"),
            (RuleName.REJECTION, 0.7, False, "the rejection rule uses other random numbers"),
            (RuleName.COUPLED, 0.7, False, "rounding decides"),
            (RuleName.COUPLED, 0.7, True, "must not be"),
            (RuleName.BLOCK, 0.0, False, "two highest logits were 0.03 apart"),
            (RuleName.BLOCK, 0.0, True, "must not be"),
        ],
    )
    def test_why_they_part(self, rule: RuleName, temperature: float, exact: bool, words: str) -> None:
        one, other = plain("a", "b"), plain("a", "c")
        close = replace(one[1], tokens=tuple(replace(token, lead=0.031) for token in one[1].tokens))
        both = halves([one[0], close], other, AnswerOptions(Sampling(temperature), 1, verify=rule))
        info = EXACT if exact else INFO
        assert words in sameness(both, info)
        assert ("logits" in sameness(both, info)) == ("logits" in words)


class TestDrafting:
    def test_much(self) -> None:
        assert drafting(halves(plain(*WORDS), drafted(*WORDS)), INFO) == ""

    def test_none(self) -> None:
        both = halves(plain(*WORDS), plain(*WORDS))
        assert "(no draft would pay: costs 24 ms, saves 11 ms)" in drafting(both, INFO)

    def test_the_last_step_may_only_tell_of_a_limit(self) -> None:
        steps = plain(*WORDS)
        steps[-1] = replace(steps[-1], reason="close to a limit")
        assert "saves 11 ms" in drafting(halves(steps, steps), INFO)
        assert "close to a limit" in drafting(halves(steps[-1:], steps[-1:]), INFO)

    def test_seldom(self) -> None:
        costs = PairCosts(flat([1.0, 1.7, 2.4, 2.9], (1, 2, 3, 4)), flat([0.3], (1,)))
        few = numbered(step(["a"], "b"), *(step([], f"w{i}") for i in range(30)))
        assert "drafting seldom pays here" in drafting(halves(plain(*WORDS), few), replace(INFO, costs=costs))


class TestOrder:
    def comparing(self) -> tuple[Comparing, list[AnswerOptions]]:
        asked: list[AnswerOptions] = []
        request = Request((Message("user", "go"),), AnswerOptions(Sampling(), 7, 4))
        return Comparing(request, lambda request: asked.append(request.options)), asked

    def test_one_after_the_other(self) -> None:
        comparing, asked = self.comparing()
        assert comparing.ended
        comparing.begin()
        assert (comparing.running, comparing.ended, len(asked)) == (None, False, 1)
        assert comparing.add(prompt_read()) is None
        comparing.go_on()
        assert comparing.add(END) is Way.PLAIN
        comparing.go_on()
        assert not comparing.may_keep(Way.PLAIN)
        assert comparing.add(drafted(*WORDS)[0]) is Way.SPECULATIVE
        comparing.go_on()
        assert (comparing.running, comparing.ended) == (None, True)
        assert [options.lookahead for options in asked] == [0, 0, 4]
        assert [comparing.may_keep(way) for way in Way] == [False, True]

    def test_an_error_ends_it_where_it_is(self) -> None:
        comparing, asked = self.comparing()
        comparing.begin()
        assert comparing.end(GenerationError("x")) is Way.PLAIN
        comparing.swap()
        assert comparing.end(GenerationError("x")) is Way.SPECULATIVE
        assert comparing.halves[Way.PLAIN].error is None
        assert len(asked) == 2
