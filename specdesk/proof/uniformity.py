"""Were tokens drawn from the very distributions they should have been drawn from? A test without approximations.

A token drawn from its law takes up the interval [ahead, ahead + p) of [0, 1), likelier tokens lying before it. A number
drawn uniformly from that interval is uniform in [0, 1) if, and only if, the token follows its law: the probability
integral transform of a discrete law, randomised. Numbers of successive tokens are independent, whatever the laws were.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_POWER_MISS = 0.1
"""How often the smallest error that counts as visible may be missed."""


@dataclass(frozen=True, slots=True)
class Uniformity:
    """Outcome of a test of `n` numbers, more than 0."""

    n: int
    distance: float
    """Largest difference between the share of numbers below a point and what it should be."""
    bound: float
    """What the distance may be; more is a fault."""
    visible: float
    """An error that moves this much probability across some point, from before it to behind it or back, is seen in 9
    runs of 10."""

    @property
    def passed(self) -> bool:
        """Whether the distance is within the bound."""
        return self.distance <= self.bound


def placed(intervals: Sequence[tuple[float, float]], seed: int) -> NDArray[np.float64]:
    """A number in each interval (ahead, p), shape (n,): uniform if the tokens follow their laws."""
    ahead, p = np.array(intervals, np.float64).reshape(-1, 2).T
    # No stream of an answer has a key of two numbers.
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0, 0)))
    return ahead + p * rng.random(ahead.size)


def uniform(numbers: NDArray[np.float64], false_alarms: float) -> Uniformity:
    """Test for uniformity in [0, 1); a right sampler fails with probability `false_alarms` at most.

    Source: Dvoretzky, Kiefer and Wolfowitz, with Massart's constant (Annals of Probability 18, 1990).
    """
    n = numbers.size
    ordered = np.sort(numbers)
    steps = np.arange(n + 1) / n
    distance = float(np.maximum(steps[1:] - ordered, ordered - steps[:-1]).max())
    bound = _bound(n, false_alarms)
    return Uniformity(n, distance, min(1.0, bound), min(1.0, bound + _bound(n, _POWER_MISS)))


def alike(one: NDArray[np.float64], other: NDArray[np.float64], false_alarms: float) -> Uniformity:
    """Test whether two independent samples have one distribution; two that do fail with probability `false_alarms`.

    Of the longer sample the end is left out.
    Source: Wei and Dudley, the two-sample inequality for equal sizes (Statistics & Probability Letters 82, 2012).
    """
    n = min(one.size, other.size)
    points = np.concatenate([one[:n], other[:n]])
    below = [np.searchsorted(np.sort(sample[:n]), points, side="right") / n for sample in (one, other)]
    distance = float(np.abs(below[0] - below[1]).max())
    bound, missed = (math.sqrt((1 - math.log(exceeded)) / n) for exceeded in (false_alarms, _POWER_MISS))
    return Uniformity(n, distance, min(1.0, bound), min(1.0, bound + missed))


def ranks(
    one: Sequence[tuple[int, ...]], other: Sequence[tuple[int, ...]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Each outcome as its number among all outcomes, in an order that does not depend on how often they came."""
    order = {outcome: float(number) for number, outcome in enumerate(sorted({*one, *other}))}
    return np.array([order[outcome] for outcome in one]), np.array([order[outcome] for outcome in other])


def _bound(n: int, exceeded: float) -> float:
    """The distance that an empirical distribution of `n` keeps to its law but with probability `exceeded`."""
    return math.sqrt(math.log(2 / exceeded) / (2 * n))
