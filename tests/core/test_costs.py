"""What passes cost: read off the measured curve, and kept true while the machine's speed changes."""

from __future__ import annotations

import pytest

from specdesk.core.costs import Costs, PairCosts, PassCosts
from tests.toy.costs import costs, flat

STAIRS = PassCosts((1, 2, 4, 5, 8), (1.0, 1.6, 2.0, 3.0, 3.0), (0.001, 0.002, 0.002, 0.002, 0.002))


def test_measured_sizes_are_read_off_and_others_lie_between() -> None:
    assert [STAIRS.seconds(n, 0) for n in (1, 2, 3, 4, 5, 6, 8)] == pytest.approx([1, 1.6, 1.8, 2, 3, 3, 3])


def test_a_fuller_cache_costs_more() -> None:
    assert STAIRS.seconds(1, 500) == pytest.approx(1.5)
    assert STAIRS.seconds(4, 500) == pytest.approx(3.0)


def test_more_than_the_largest_is_read_in_several_passes() -> None:
    assert STAIRS.seconds(18, 0) == pytest.approx(3.0 + (3.0 + 8 * 0.002) + (1.6 + 16 * 0.002))
    assert STAIRS.seconds(16, 0) == pytest.approx(3.0 + 3.0 + 8 * 0.002)


@pytest.mark.parametrize(
    ("sizes", "base", "growth"),
    [
        ((), (), ()),
        ((2, 3), (1.0, 2.0), (0.0, 0.0)),
        ((1, 1), (1.0, 2.0), (0.0, 0.0)),
        ((1, 2), (1.0,), (0.0, 0.0)),
        ((1, 2), (1.0, 0.0), (0.0, 0.0)),
        ((1, 2), (1.0, float("nan")), (0.0, 0.0)),
        ((1, 2), (1.0, 2.0), (0.0, -1.0)),
        ((1, 2), (1.0, 1e308), (0.0, 0.0)),
        ((1, 2), (1.0, 5e-324), (0.0, 0.0)),
        ((1, 2), (1.0, 10**400), (0.0, 0.0)),
        ((1, 2), (1.0, 2.0), (0.0, 1e308)),
        ((1, 2), (1.0, 2.0), (0.0, 10**400)),
    ],
)
def test_what_cannot_have_been_measured_is_refused(
    sizes: tuple[int, ...], base: tuple[float, ...], growth: tuple[float, ...]
) -> None:
    with pytest.raises(ValueError, match=r"sizes|base|seconds|growth"):
        PassCosts(sizes, base, growth)


@pytest.mark.parametrize("slower", [0.7, 1.3, 3.0])
def test_a_change_of_the_machine_s_speed_leaves_ratios_alone(slower: float) -> None:
    """Only passes of 5 tokens are seen after it, and they say how fast everything is now."""
    here = Costs(PairCosts(STAIRS, flat([0.1, 0.2], (1, 2))))
    for _ in range(40):
        here.saw_target(5, 0, 3.0 * slower)
    assert here.target_s(5, 0) == pytest.approx(3.0 * slower, rel=0.01)
    assert here.target_s(1, 0) == pytest.approx(slower, rel=0.08)
    assert here.draft_s(1, 0) == pytest.approx(0.1 * slower, rel=0.08)
    assert here.plain_s(0) == pytest.approx(here.target_s(1, 0))


def test_a_size_that_costs_another_share_than_measured_is_corrected() -> None:
    here = Costs(PairCosts(STAIRS))
    for _ in range(300):
        here.saw_target(1, 0, 1.0)
        here.saw_target(4, 0, 2.6)
    assert here.target_s(4, 0) / here.target_s(1, 0) == pytest.approx(2.6, rel=0.05)


def test_a_pass_that_was_held_up_does_not_count_for_long() -> None:
    here = Costs(PairCosts(STAIRS))
    here.saw_target(1, 0, 60.0)
    assert here.target_s(1, 0) < 1.2
    for _ in range(12):
        here.saw_target(1, 0, 1.0)
    assert here.target_s(1, 0) == pytest.approx(1.0, rel=0.02)


def test_drafting_is_corrected_as_a_whole() -> None:
    here = costs(0.1, 0.1)
    for _ in range(300):
        here.saw_target(1, 0, 1.0)
        here.saw_draft(4 * here.draft_s(1, 0), 4 * 0.15)
    assert here.draft_s(1, 0) == pytest.approx(0.15, rel=0.05)
    assert here.target_s(1, 0) == pytest.approx(1.0, rel=0.05)


def test_what_drafting_corrects_is_hardly_put_down_to_one_size_of_target_pass() -> None:
    here = costs(0.1, 0.1)
    for _ in range(300):
        here.saw_target(1, 0, 1.0)
        here.saw_draft(here.draft_s(1, 0), 0.15)
    assert here.target_s(4, 0) == pytest.approx(1.3, rel=0.3)


def test_drafting_reads_behind_what_it_has_read_and_steps_behind_the_text() -> None:
    growing = PassCosts((1, 4), (1.0, 2.0), (0.1, 0.2))
    here = Costs(PairCosts(STAIRS, growing))
    assert here.drafting_s(4, 3, 100) == pytest.approx((2.0 + 96 * 0.2) + 2 * (1.0 + 100 * 0.1))
    assert here.drafting_s(1, 1, 100) == pytest.approx(1.0 + 99 * 0.1)


def test_slow_drafting_says_that_the_machine_is_slow() -> None:
    here = costs(0.1, 0.1)
    for _ in range(40):
        here.saw_draft(here.draft_s(1, 0) / here.target_s(1, 0), 0.13)
    assert here.target_s(1, 0) > 1.2


@pytest.mark.parametrize(("seconds", "least", "most"), [(1e-9, 0.1, 0.15), (1e9, 1.0, 1.2)])
def test_no_single_pass_is_believed_to_be_a_miracle(seconds: float, least: float, most: float) -> None:
    here = Costs(PairCosts(STAIRS))
    here.saw_target(1, 0, seconds)
    assert least < here.target_s(1, 0) < most


def test_costs_that_were_measured_on_a_busy_machine_are_put_right_by_the_first_passes() -> None:
    """Else the first tokens are compared with a plain decoding that is slower than it is."""
    here = Costs(PairCosts(STAIRS))
    right = 0.0
    for n in (3, 1, 4, 2):
        here.saw_target(n, 0, STAIRS.seconds(n, 0) / 3)
        right += here.plain_s(0)
    assert right == pytest.approx(4 * STAIRS.seconds(1, 0) / 3, rel=0.05)


def test_one_that_becomes_busy_is_believed_slowly() -> None:
    here = Costs(PairCosts(STAIRS))
    here.saw_target(1, 0, 3 * STAIRS.seconds(1, 0))
    assert here.plain_s(0) < 1.15 * STAIRS.seconds(1, 0)


def test_a_plain_token_costs_our_own_work_too() -> None:
    here = costs(0.1)
    for _ in range(100):
        here.saw_own(2, 0.02)
    assert here.plain_s(0) == pytest.approx(1.01, rel=1e-3)


def test_without_a_draft_model_it_has_no_costs() -> None:
    with pytest.raises(ValueError, match="no draft model"):
        costs(0.1).draft_s(1, 0)
