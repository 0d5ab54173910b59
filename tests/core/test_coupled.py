"""Noise that is a function of seed, answer, position and token, and the rule that runs on it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import kstest, pearsonr

from specdesk.core.chance import GumbelNoise
from specdesk.core.decode import Task, decode
from specdesk.core.drafters.forced import ForcedDrafter
from specdesk.core.drafters.model import ModelDrafter
from specdesk.core.events import Outcome, Step
from specdesk.core.names import RuleName
from specdesk.core.rules import rule_of
from specdesk.core.sampling import Sampling
from specdesk.core.warp import Distribution
from tests.answers import ids
from tests.toy.models import ByteVocabulary, EveryStep, TableConstraint, ToyLM, events, random_logits

V = 8
OPEN = Sampling(1.0, 0, 1.0, 0.0)
EVERYTHING = np.arange(150_000)


def toy(noise: float = 0.0) -> ToyLM:
    return ToyLM(random_logits(V, 3, scale=2.0, noise=noise), V)


def answer(draft: ToyLM | None, k: int, seed: int, n: int = 30) -> list[int]:
    return ids(events(Task([1, 2], OPEN, n), toy(), draft, k, seed=seed, rule=RuleName.COUPLED))


@pytest.mark.parametrize("seed", range(5))
def test_the_answer_depends_on_the_seed_alone(seed: int) -> None:
    """Not on the draft, its length, or whether there is one."""
    plain = answer(None, 0, seed)
    for noise in (0.0, 0.5, 50.0):
        for k in range(1, 9):
            assert answer(toy(noise), k, seed) == plain
    assert answer(None, 0, seed + 100) != plain


def test_another_answer_of_the_same_seed_is_another() -> None:
    """Asked again, or as the next turn: the number tells them apart."""

    def numbered(name: RuleName, answer: int) -> list[int]:
        stream = decode(
            Task([1, 2], OPEN, 30),
            target=toy(),
            vocabulary=ByteVocabulary(),
            drafters=[],
            lookahead=EveryStep(0),
            rule=rule_of(name, 4, answer),
            clock=lambda: 0.0,
        )
        return ids(stream)

    for name in RuleName:
        assert numbered(name, 1) == numbered(name, 1)
        assert len({tuple(numbered(name, answer)) for answer in range(4)}) == 4


@pytest.mark.parametrize("k", [0, 3])
@pytest.mark.parametrize("cut", [1, 11, 29])
def test_a_continued_answer_goes_on_as_if_it_had_not_been_cut(k: int, cut: int) -> None:
    """The noise of a position depends on how many tokens of the answer came before, not on where decoding began."""
    whole = answer(None, 0, 4)
    rest = Task([1, 2, *whole[:cut]], OPEN, 30 - cut, n_written=cut)
    assert ids(events(rest, toy(), toy(0.5), k, seed=4, rule=RuleName.COUPLED)) == whole[cut:]


def test_a_good_draft_is_mostly_accepted_and_a_bad_one_is_not() -> None:
    def accepted(noise: float) -> int:
        steps = events(Task([1, 2], OPEN, 60), toy(), toy(noise), 4, seed=1, rule=RuleName.COUPLED)
        return sum(step.n_accepted for step in steps if hasattr(step, "n_accepted"))

    assert accepted(0.0) >= 46
    assert accepted(0.0) > accepted(0.5) > accepted(50.0)


def test_the_noise_is_standard_gumbel() -> None:
    """Fixed seed; a fresh one would fail with probability 1e-4."""
    assert kstest(GumbelNoise(7).at(3, EVERYTHING), "gumbel_r").pvalue > 1e-4


def test_noise_of_neighbours_is_independent() -> None:
    """Of seeds, answers, positions and tokens that differ by one: correlation within what 150,000 pairs allow."""
    keys = [GumbelNoise(7, 0), GumbelNoise(8, 0), GumbelNoise(7, 1)]
    columns = [key.at(position, EVERYTHING) for key in keys for position in (0, 1, 2)]
    columns.append(np.roll(columns[0], 1))
    for a, b in [*pairwise(columns), (columns[0], columns[-1])]:
        assert abs(pearsonr(a, b).statistic) < 0.012


def test_a_token_s_noise_does_not_depend_on_the_other_candidates() -> None:
    noise = GumbelNoise(7)
    assert (noise.at(5, EVERYTHING)[[3, 70_000]] == noise.at(5, np.array([3, 70_000]))).all()


def test_choosing_draws_from_the_law() -> None:
    """4,000 positions against three probabilities: each within 5 standard deviations."""
    law = Distribution(np.array([2, 5, 6]), np.array([0.5, 0.3, 0.2]))
    chosen = [GumbelNoise(1).choose(law, position) for position in range(4000)]
    for token, p in zip(law.ids, law.probs, strict=True):
        assert abs(chosen.count(int(token)) - 4000 * p) < 5 * (4000 * p * (1 - p)) ** 0.5


def test_what_has_no_probability_is_never_chosen() -> None:
    law = Distribution(np.array([0, 1]), np.array([0.0, 1.0]))
    assert {GumbelNoise(1).choose(law, position) for position in range(500)} == {1}


@pytest.mark.parametrize("seed", [0, 2**63 - 1, 2**64 + 5])
def test_any_seed_will_do(seed: int) -> None:
    assert np.isfinite(GumbelNoise(seed, 2**40).at(10**9, EVERYTHING[:50])).all()


def test_behind_forced_text_the_draft_draws_with_the_noise_of_its_positions() -> None:
    """A draft that is the target draws what the target draws, if it looks at the same positions."""
    constraint = TableConstraint({token: (3,) if token == 2 else tuple(range(V)) for token in range(-1, V)})
    task = Task([1, 2], OPEN, 60, n_written=1, constraint=constraint)
    drafter = ForcedDrafter(constraint, ModelDrafter(toy()))
    steps = [
        event
        for event in events(task, toy(), None, 4, seed=4, drafter=drafter, rule=RuleName.COUPLED)
        if isinstance(event, Step)
    ]
    assert any(step.drafter == "grammar and model" for step in steps)
    assert all(token.outcome is not Outcome.REJECTED for step in steps for token in step.drafted)
