"""Replayed times against a simulation of every way things can go, and against sums made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from math import prod

import numpy as np
import pytest

from specdesk.bench.replay import FIXED, Drafting, Passes, Regret, fixed_s, oracle_s, ran_s, regret
from specdesk.core.costs import PairCosts, PassCosts
from tests.bench.samples import costs

N_PROMPT = 5
ODD = PairCosts(
    PassCosts((1, 2, 3, 4, 8), (1.0, 1.05, 1.5, 1.55, 2.4), (0.01, 0.011, 0.012, 0.013, 0.02)),
    PassCosts((1, 2, 4, 8), (0.2, 0.23, 0.3, 0.5), (0.002, 0.0021, 0.003, 0.004)),
)


@dataclass
class Machine:
    """Does what decoding does with an answer whose draft tokens stand as `outcomes` say, and counts its seconds."""

    costs: PairCosts
    outcomes: Sequence[bool]
    at: int = 0
    cached: int = 0
    """Tokens in the draft model's cache."""
    seconds: float = field(default=0.0)

    def step(self, k: int) -> None:
        assert self.costs.draft is not None
        k = min(k, len(self.outcomes) - self.at - 1)
        text = N_PROMPT + self.at
        self.seconds += self.costs.target.seconds(1 + k, text)
        if k:
            self.seconds += self.costs.draft.seconds(text - self.cached, self.cached)
            self.seconds += (k - 1) * self.costs.draft.seconds(1, text)
            self.cached = text + k - 1
        stood = 0
        while stood < k and self.outcomes[self.at + stood]:
            stood += 1
        self.at += stood + 1
        self.cached = min(self.cached, N_PROMPT + self.at - 1)


def simulated(pair: PairCosts, outcomes: Sequence[bool], ks: Sequence[int] | int) -> float:
    machine = Machine(pair, outcomes)
    turn = 0
    while machine.at < len(outcomes):
        machine.step(ks if isinstance(ks, int) else ks[turn])
        turn += 1
    return machine.seconds


@pytest.mark.parametrize("pair", [costs(), costs(growth_s=0.01), ODD])
@pytest.mark.parametrize("k", [0, 1, 2, 3, 5, 9])
def test_a_fixed_lookahead_takes_the_mean_over_all_outcomes(pair: PairCosts, k: int) -> None:
    stands = [0.9, 0.5, 1.0, 0.25, 0.0, 0.8, 0.6]
    expected = 0.0
    for outcomes in product((True, False), repeat=len(stands)):
        weight = prod(p if stood else 1 - p for p, stood in zip(stands, outcomes, strict=True))
        expected += weight * simulated(pair, outcomes, k)
    assert fixed_s(Passes(pair, N_PROMPT), stands, k) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("pair", [costs(), costs(growth_s=0.01), ODD])
@pytest.mark.parametrize("seed", range(6))
def test_the_oracle_takes_the_least_of_all_choices(pair: PairCosts, seed: int) -> None:
    n = 6
    outcomes = [bool(stood) for stood in np.random.default_rng(seed).random(n) < 0.7]
    least = min(simulated(pair, outcomes, ks) for ks in product(range(n), repeat=n))
    assert oracle_s(Passes(pair, N_PROMPT), outcomes) == pytest.approx(least, rel=1e-12)


def test_the_oracle_does_not_read_what_it_will_not_use() -> None:
    """Nothing would stand, so no draft is worth anything."""
    assert oracle_s(Passes(costs(), N_PROMPT), [False] * 50) == pytest.approx(50.0)


def test_the_oracle_reads_late_where_that_pays() -> None:
    outcomes = [False] * 30 + [True] * 30
    passes = Passes(costs(), N_PROMPT)
    assert (
        30.0 < oracle_s(passes, outcomes) < min(fixed_s(passes, [float(stood) for stood in outcomes], k) for k in FIXED)
    )


def test_sums_by_hand() -> None:
    """A target pass takes 7/8 + n/8 seconds, a pass of the draft an eighth of that."""
    passes = Passes(costs(), N_PROMPT)
    # One step of 2 draft tokens that both stand, and its bonus: 10/8 + (12/8 + 8/8) / 8.
    assert fixed_s(passes, [1.0, 1.0, 1.0], 2) == pytest.approx(1.25 + 0.3125)
    # A rejected one, then one that stands as the last but one: passes of 2 and 2; the draft reads 5 and 1.
    assert fixed_s(passes, [0.0, 1.0, 1.0], 1) == pytest.approx(1.125 + 0.1875 + 1.125 + 0.125)
    # The last token of all is never worth a draft.
    assert fixed_s(passes, [1.0], 8) == pytest.approx(1.0)


def test_what_ran_is_charged_for_all_it_read() -> None:
    passes = Passes(costs(), N_PROMPT)
    steps = [
        Drafting(None, 0, 0, 0, 1),
        Drafting("model", 2, 2, 2, 3),  # reads 6 tokens, then steps once; all stood: one token behind
        Drafting("suffix", 4, 0, 1, 2),  # no pass of the draft
        Drafting("model", 1, 2, 1, 2),  # 4 tokens to read; one more was offered and not drawn
        Drafting(None, 0, 1, 0, 1),  # only offered; it is one token behind
    ]
    target = 1.0 + 1.25 + 1.5 + 1.125 + 1.0
    draft = (13 / 8 + 1) / 8 + (11 / 8 + 1) / 8 + 8 / 8 / 8
    assert ran_s(passes, steps) == pytest.approx(target + draft)


@cache
def _replayed() -> Regret:
    stands = (0.9,) * 20
    steps = [Drafting("model", 3, 3, 3, 4)] * 5
    return regret(costs(), N_PROMPT, stands, steps)


def test_the_same_answer_has_the_same_oracle() -> None:
    assert _replayed() == regret(costs(), N_PROMPT, (0.9,) * 20, [Drafting("model", 3, 3, 3, 4)] * 5)


def test_regret_is_against_the_best() -> None:
    found = _replayed()
    assert [k for k, _ in found.fixed_s] == list(FIXED)
    least = dict(found.fixed_s)[found.best_fixed]
    assert least == min(seconds for _, seconds in found.fixed_s)
    assert found.to_best_fixed == pytest.approx(found.ran_s / least)
    assert found.oracle_s <= least
    assert found.record()["to_oracle"] == found.to_oracle


def test_what_does_not_fit_together_is_refused() -> None:
    with pytest.raises(ValueError, match="4 tokens were written, 3 are known"):
        regret(costs(), N_PROMPT, [1.0] * 3, [Drafting("model", 3, 3, 3, 4)])
    with pytest.raises(ValueError, match="no draft model"):
        Passes(PairCosts(costs().target), N_PROMPT)
