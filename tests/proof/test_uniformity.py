"""The test of draws: silent for right samplers, alarmed by wrong ones of the size it names."""

from __future__ import annotations

import numpy as np
import pytest

from specdesk.core.warp import Distribution
from specdesk.proof.uniformity import Uniformity, alike, placed, ranks, uniform

ALARMS = 1e-5


def draws(n: int, seed: int, *, heat: float = 1.0) -> list[tuple[float, float]]:
    """(ahead, p) of tokens drawn from random laws, or from those laws at another temperature."""
    rng = np.random.default_rng(seed)
    intervals = []
    for _ in range(n):
        probs = rng.dirichlet(np.full(6, 0.5))
        law = Distribution(np.arange(6), probs)
        drawn_from = probs ** (1 / heat)
        token = Distribution(law.ids, drawn_from / drawn_from.sum()).draw(rng)
        intervals.append((law.ahead(token), law.prob(token)))
    return intervals


def test_right_draws_pass() -> None:
    """200 runs of 300 draws at odds of 1e-5 each: a failure here has probability 0.002 for a fresh seed."""
    assert all(uniform(placed(draws(300, seed), seed), ALARMS).passed for seed in range(200))


@pytest.mark.parametrize("heat", [0.5, 2.0])
def test_draws_of_another_temperature_fail(heat: float) -> None:
    assert not uniform(placed(draws(3000, 1, heat=heat), 1), ALARMS).passed


def test_the_bound_is_kept_as_often_as_promised() -> None:
    """With odds of 0.2, that share of 500 runs fails, give or take 2.8 standard deviations, and not far fewer."""
    failed = sum(not uniform(np.random.default_rng(seed).random(200), 0.2).passed for seed in range(500))
    assert 0.1 * 500 < failed < 0.25 * 500


def test_two_samples_of_one_law_pass_and_of_two_fail() -> None:
    one, other = placed(draws(2000, 1), 1), placed(draws(2000, 2), 2)
    assert alike(one, other, ALARMS).passed
    assert not alike(one, placed(draws(2000, 3, heat=3.0), 3), ALARMS).passed


def test_two_samples_keep_their_bound() -> None:
    """As above; any continuous law will do, and sizes may differ."""

    def pair(seed: int) -> Uniformity:
        rng = np.random.default_rng(seed)
        return alike(rng.random(100) ** 3, rng.random(110) ** 3, 0.2)

    assert 0.05 * 500 < sum(not pair(seed).passed for seed in range(500)) < 0.2 * 500


def test_a_bias_of_the_size_it_calls_visible_is_seen_nine_times_in_ten() -> None:
    n = 1000
    visible = uniform(np.random.default_rng(0).random(n), ALARMS).visible

    def biased(seed: int) -> bool:
        """That much of the probability moves from the upper half to the lower."""
        rng = np.random.default_rng(seed)
        numbers = rng.random(n)
        moved = (numbers > 0.5) & (rng.random(n) < 2 * visible)
        return uniform(np.where(moved, numbers - 0.5, numbers), ALARMS).passed

    assert sum(not biased(seed) for seed in range(100)) >= 90


def test_distance_is_kolmogorov_s() -> None:
    assert uniform(np.array([0.5]), 0.1).distance == pytest.approx(0.5)
    assert uniform(np.array([0.1, 0.2, 0.9]), 0.1).distance == pytest.approx(2 / 3 - 0.2)


def test_ranks_keep_what_is_equal_equal() -> None:
    one, other = ranks([(1, 2), (0, 9), (1, 2)], [(0, 9), (3,)])
    assert list(one) == [1, 0, 1]
    assert list(other) == [0, 2]
