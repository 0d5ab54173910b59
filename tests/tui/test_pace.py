"""How often an answer is painted: as often as can be seen, unless painting costs too much of a core."""

from __future__ import annotations

import pytest

from specdesk.tui.pace import LATEST_S, SOONEST_S, Pace


class Clock:
    """The processor time of a thread, as a test sets it."""

    def __init__(self) -> None:
        self.cpu_s = 0.0


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pace(clock: Clock) -> Pace:
    return Pace(lambda: clock.cpu_s)


def painted(pace: Pace, clock: Clock, *, cost_s: float, times: int = 40) -> None:
    for _ in range(times):
        clock.cpu_s += cost_s
        pace.painted()


def test_cheap_painting_is_done_as_often_as_can_be_seen(pace: Pace, clock: Clock) -> None:
    assert pace.wait_s == SOONEST_S
    painted(pace, clock, cost_s=0.001)
    assert pace.wait_s == SOONEST_S
    assert SOONEST_S >= 1 / 15


@pytest.mark.parametrize("cost_s", [0.004, 0.006, 0.009])
def test_painting_takes_a_twentieth_of_a_core_at_most(pace: Pace, clock: Clock, cost_s: float) -> None:
    painted(pace, clock, cost_s=cost_s)
    assert 0.03 < cost_s / pace.wait_s < 0.05
    assert SOONEST_S < pace.wait_s < LATEST_S


def test_text_is_never_kept_back_for_long(pace: Pace, clock: Clock) -> None:
    painted(pace, clock, cost_s=1.0)
    assert pace.wait_s == LATEST_S <= 0.25


def test_one_dear_repaint_is_soon_forgotten(pace: Pace, clock: Clock) -> None:
    painted(pace, clock, cost_s=0.001)
    painted(pace, clock, cost_s=0.03, times=1)
    assert SOONEST_S < pace.wait_s < LATEST_S
    painted(pace, clock, cost_s=0.001, times=10)
    assert pace.wait_s == SOONEST_S


def test_what_was_spent_before_the_answer_does_not_count(clock: Clock) -> None:
    clock.cpu_s = 60.0
    pace = Pace(lambda: clock.cpu_s)
    painted(pace, clock, cost_s=0.001, times=1)
    assert pace.wait_s == SOONEST_S
