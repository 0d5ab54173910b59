"""The rejection rule, exactly: its law by algebra, its decisions by scripted uniform numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from specdesk.core.verify import DraftToken, Verdict, rejection, residual
from specdesk.core.warp import Distribution, certain


def over(*probs: float) -> Distribution:
    array = np.array(probs)
    return Distribution(np.flatnonzero(array).astype(np.int64), array[array > 0])


class Scripted:
    """Chance by uniform numbers that are given; it fails when asked for more."""

    def __init__(self, *numbers: float) -> None:
        self._numbers: Iterator[float] = iter(numbers)

    def random(self) -> float:
        return next(self._numbers)

    def happens(self, probability: float) -> bool:
        return self.random() < probability

    def draw(self, law: Distribution) -> int:
        return law.draw(self)  # type: ignore[arg-type]

    def spent(self) -> bool:
        return next(self._numbers, None) is None


def n_accepted(verdict: Verdict) -> int:
    return sum(test.accepted for test in verdict.tests)


def random_pair(seed: int) -> tuple[Distribution, Distribution]:
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.full(6, 0.5)), rng.dirichlet(np.full(6, 0.5))
    # Warped distributions have holes, not always in the same places.
    p[rng.random(6) < 0.3], q[rng.random(6) < 0.3] = 0, 0
    p[0] += 0.01
    q[1] += 0.01
    return over(*(p / p.sum())), over(*(q / q.sum()))


@pytest.mark.parametrize("seed", range(40))
def test_accepting_and_replacing_gives_exactly_the_target(seed: int) -> None:
    """min(p, q) + (1 - sum min(p, q)) * residual = p, to 1e-12, also where the supports differ."""
    p, q = random_pair(seed)
    everything = np.arange(6)
    accepted = np.minimum(p.probs_of(everything), q.probs_of(everything))
    law = accepted + (1 - accepted.sum()) * residual(p, q).probs_of(everything)
    assert law == pytest.approx(p.probs_of(everything), abs=1e-12)


def test_accepts_below_the_ratio_and_not_at_it() -> None:
    p, q = over(0.25, 0.75), over(0.5, 0.5)
    drafts = [DraftToken(0, q)]
    below = rejection(drafts, lambda _: p, Scripted(0.4999, 0.0))
    at = rejection(drafts, lambda _: p, Scripted(0.5, 0.0))
    assert (n_accepted(below), below.rejected, below.token) == (1, False, 0)
    assert (n_accepted(at), at.rejected, at.token) == (0, True, 1)
    assert (at.tests[0].p, at.tests[0].q) == (0.25, 0.5)


def test_a_token_the_target_never_writes_falls_even_at_zero() -> None:
    verdict = rejection([DraftToken(0, over(0.5, 0.5))], lambda _: over(0, 1), Scripted(0.0, 0.0))
    assert (n_accepted(verdict), verdict.token) == (0, 1)


def test_rows_behind_a_rejection_are_never_asked_for() -> None:
    asked: list[int] = []

    def target_at(row: int) -> Distribution:
        asked.append(row)
        return over(0, 1) if row == 1 else over(1, 0)

    rng = Scripted(0.3, 0.3, 0.0)
    verdict = rejection([DraftToken(0, over(1, 0))] * 4, target_at, rng)
    assert asked == [0, 1]
    assert (n_accepted(verdict), verdict.rejected, verdict.token) == (1, True, 1)
    assert rng.spent()


def test_a_block_that_stands_gets_one_bonus_token_from_the_last_row() -> None:
    verdict = rejection(
        [DraftToken(2, certain(2))] * 3, lambda row: certain(2 if row < 3 else 5), Scripted(0.9, 0.9, 0.9, 0.5)
    )
    assert (n_accepted(verdict), verdict.rejected, verdict.token, verdict.p) == (3, False, 5, 1.0)


def test_without_drafts_it_is_plain_sampling() -> None:
    verdict = rejection([], lambda _: over(0.1, 0.9), Scripted(0.5))
    assert not verdict.tests
    assert (verdict.rejected, verdict.token) == (False, 1)
    assert verdict.p == pytest.approx(0.9)


@pytest.mark.parametrize("seed", range(20))
def test_the_residual_is_a_distribution_without_what_the_draft_overrates(seed: int) -> None:
    p, q = random_pair(seed)
    rest = residual(p, q)
    assert rest.probs.sum() == pytest.approx(1, abs=1e-12)
    assert (rest.probs >= 0).all()
    assert (rest.probs[q.probs_of(rest.ids) >= p.probs_of(rest.ids)] == 0).all()


def test_the_residual_of_equals_is_the_target() -> None:
    p = over(0.2, 0.8)
    assert residual(p, over(0.2, 0.8)) is p


def test_the_probability_of_a_replacement_is_the_target_s() -> None:
    verdict = rejection([DraftToken(0, over(0.9, 0.1))], lambda _: over(0.2, 0.8), Scripted(0.9, 0.5))
    assert verdict.rejected
    assert (verdict.token, verdict.p) == (1, 0.8)


def test_a_small_excess_is_still_the_residual() -> None:
    rest = residual(over(0.5001, 0.4999), over(0.5, 0.5))
    assert list(rest.probs_of(np.arange(2))) == [1.0, 0.0]


@pytest.mark.parametrize(("uniform", "token"), [(0.0, 1), (0.4999, 1), (0.5, 2), (0.9999999999999999, 2)])
def test_drawing_never_takes_what_has_no_probability(uniform: float, token: int) -> None:
    law = Distribution(np.arange(4), np.array([0.0, 0.5, 0.5, 0.0]))
    assert law.draw(Scripted(uniform)) == token  # type: ignore[arg-type]
