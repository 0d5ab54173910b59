"""The figures: every drafted token counted once, and a speedup only where it was measured."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from specdesk.core.events import AnswerToken, DraftedToken, Outcome, PromptRead, Source, Step
from specdesk.core.tally import MIN_TOKENS, Tally


def step(outcomes: str, n_tokens: int, seconds: float, plain_s: float | None = 0.1) -> Step:
    """`outcomes` is a letter per draft token: a, r or i; `plain_s` what a plain token takes."""
    names = {"a": Outcome.ACCEPTED, "r": Outcome.REJECTED, "i": Outcome.IGNORED}
    return Step(
        index=0,
        lookahead=len(outcomes),
        reason="test",
        drafter="model" if outcomes else None,
        parity="test",
        drafted=tuple(DraftedToken(0, "", 1.0, 1.0, names[letter]) for letter in outcomes),
        tokens=tuple(AnswerToken(0, "", Source.PLAIN, 1.0, 0.0) for _ in range(n_tokens)),
        deltas=(),
        draft_s=seconds / 4,
        target_s=seconds / 2,
        step_s=seconds,
        plain_s=plain_s,
    )


def tally(steps: Sequence[Step]) -> Tally:
    total = Tally()
    total.add(PromptRead(10, 10, 4, 0.5))
    for one in steps:
        total.add(one)
    return total


def test_every_draft_token_is_accepted_rejected_or_ignored() -> None:
    total = tally([step("aari", 3, 1), step("aaaa", 5, 1), step("i", 1, 1)])
    assert (total.drafted, total.accepted, total.rejected, total.ignored) == (9, 6, 1, 2)
    assert total.acceptance_rate == pytest.approx(6 / 7)
    assert total.tokens_per_pass == pytest.approx(3)
    assert (total.prompt_tokens, total.prompt_s) == (10, 0.5)


def test_speedup_is_the_time_of_plain_decoding_over_the_time_it_took() -> None:
    """100 tokens in 5 s where plain decoding takes 0.1 s for each: 20 tokens/s against 10, so 2x."""
    total = tally([step("aaaa", 5, 0.25)] * 20)
    assert total.generated_tokens == 100
    assert total.tokens_per_s == pytest.approx(20)
    assert total.plain_tokens_per_s == pytest.approx(10)
    assert total.speedup == pytest.approx(2.0)


def test_the_machine_s_speed_may_change_within_an_answer() -> None:
    total = tally([step("aaaa", 5, 0.25, 0.1)] * 10 + [step("aaaa", 5, 0.75, 0.3)] * 10)
    assert total.speedup == pytest.approx(2.0)


def test_a_slow_draft_shows_as_below_one() -> None:
    assert tally([step("rii", 1, 0.4)] * 20).speedup == pytest.approx(0.25)


def test_nothing_is_claimed_before_it_was_measured() -> None:
    assert tally([]).tokens_per_s is None
    assert tally([]).acceptance_rate is None
    assert tally([step("aaaa", 5, 0.2), step("aaaa", 5, 0.2, None)] * 20).speedup is None
    short = tally([step("aaaa", 5, 0.2), step("", 1, 0.1)])
    assert short.generated_tokens < MIN_TOKENS
    assert short.speedup is None


def test_plain_decoding_is_compared_with_nothing() -> None:
    total = tally([step("", 1, 0.1)] * 30)
    assert total.speedup is None
    assert total.plain_tokens_per_s == pytest.approx(10)


def test_one_step_is_compared_with_plain_decoding() -> None:
    assert tally([]).speedup_of(step("aaaa", 5, 0.25)) == pytest.approx(2.0)
    assert tally([]).speedup_of(step("aaaa", 5, 0.25, None)) is None
    assert tally([]).speedup_of(step("", 1, 0.1)) is None


@pytest.mark.parametrize(
    ("outcomes", "accepted", "rate"), [("", 0, None), ("i", 0, None), ("aari", 2, 2 / 3), ("aa", 2, 1)]
)
def test_acceptance_of_one_step(outcomes: str, accepted: int, rate: float | None) -> None:
    one = step(outcomes, 1, 0.1)
    assert one.n_accepted == accepted
    assert one.acceptance_rate == (None if rate is None else pytest.approx(rate))


def test_a_speedup_is_told_from_the_sixteenth_token_on() -> None:
    steps = [step("aaaa", 5, 0.2), step("", 1, 0.1)] * 2 + [step("", 1, 0.1)] * 3
    assert tally(steps).generated_tokens == MIN_TOKENS - 1
    assert tally(steps).speedup is None
    assert tally([*steps, step("", 1, 0.1)]).speedup is not None
