"""Choosing among ways to run a pair, with figures worked out by hand."""

from __future__ import annotations

import pytest

from specdesk.core.costs import PairCosts, PassCosts
from specdesk.core.tuning import Candidate, fastest, least, pace, rescaled, standing

TARGET = PassCosts((1, 2, 3), (0.1, 0.12, 0.2), (0.0, 0.0, 0.0))


def steps_of(seconds: float) -> PassCosts:
    return PassCosts((1,), (seconds,), (0.0,))


@pytest.mark.parametrize(
    ("candidates", "chosen"),
    [
        ([(10.0, 0)], 0),
        ([(10.0, 0), (12.0, 1)], 1),
        ([(10.0, 0), (10.19, 1)], 0),  # 10 is within 2% of 10.19
        ([(10.0, 0), (10.3, 1)], 1),
        ([(10.3, 2), (10.25, 1), (9.0, 0)], 1),
        ([(10.3, 1), (10.35, 1), (9.0, 0)], 1),
        ([(10.0, 2), (10.1, 1), (10.0, 0)], 2),
    ],
)
def test_the_fastest_wins_and_among_equals_what_changes_least(candidates: list[tuple[float, int]], chosen: int) -> None:
    assert fastest([Candidate(*candidate) for candidate in candidates]) == chosen


def test_of_nothing_nothing_is_chosen() -> None:
    with pytest.raises(ValueError, match="nothing"):
        fastest([])


def test_how_many_stand_is_averaged_over_where_a_draft_may_begin() -> None:
    # First tokens: 1, 0.5, 0.4, 0.8 -> 2.7 / 4. Two: 0.5, 0.2, and nothing of the short answer -> 0.35. Three: 0.2.
    assert standing([[1.0, 0.5, 0.4], [0.8]], 5) == pytest.approx([0.675, 0.35, 0.2])
    assert standing([[1.0, 0.5, 0.4]], 1) == pytest.approx([1.9 / 3])
    assert standing([], 3) == []


def test_the_pace_is_that_of_the_best_number_of_draft_tokens() -> None:
    # Plain: 10. K = 1: 1.8 / (0.12 + 0.01) = 13.85. K = 2: 2.4 / (0.2 + 0.02) = 10.9.
    assert pace(PairCosts(TARGET, steps_of(0.01)), [0.8, 0.6], 0) == pytest.approx(1.8 / 0.13)
    # A draft that is hardly cheaper than the target: 1.8 / 0.2 = 9, so plain it is.
    assert pace(PairCosts(TARGET, steps_of(0.08)), [0.8, 0.6], 0) == pytest.approx(10.0)
    assert pace(PairCosts(TARGET, steps_of(0.01)), [], 0) == pytest.approx(10.0)
    assert pace(PairCosts(TARGET), [0.8, 0.6], 0) == pytest.approx(10.0)


def test_a_cheaper_draft_that_is_wrong_more_often_may_be_slower() -> None:
    good = pace(PairCosts(TARGET, steps_of(0.02)), [0.9], 0)  # 1.9 / 0.14 = 13.57
    cheap = pace(PairCosts(TARGET, steps_of(0.01)), [0.7], 0)  # 1.7 / 0.13 = 13.08
    assert good > cheap


def test_depth_counts() -> None:
    deep = PassCosts((1,), (0.1,), (0.001,))
    assert pace(PairCosts(deep), [], 100) == pytest.approx(5.0)


def test_other_settings_rescale_the_staircase() -> None:
    known = PassCosts((1, 2, 3, 5, 9), (1.0, 1.2, 1.8, 2.0, 4.0), (0.0,) * 5)
    before = PassCosts((1, 5), (1.0, 2.0), (0.0, 0.0))
    found = rescaled(known, PassCosts((1, 5), (2.0, 2.0), (0.1, 0.3)), before)
    # Ratios 2 for 1 token and 1 for 5: 1.75 for 2, 1.5 for 3; beyond 5 that of 5.
    assert found.base_s == pytest.approx((2.0, 2.1, 2.7, 2.0, 4.0))
    assert found.growth_s == pytest.approx((0.1, 0.15, 0.2, 0.3, 0.3))
    assert rescaled(known, before, before) == known


def test_of_two_measurements_the_least_counts() -> None:
    one, other = PassCosts((1, 2), (1.0, 3.0), (0.2, 0.0)), PassCosts((1, 2), (2.0, 2.5), (0.1, 0.1))
    assert least(one, other) == PassCosts((1, 2), (1.0, 2.5), (0.1, 0.0))
