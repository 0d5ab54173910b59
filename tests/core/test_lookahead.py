"""The fixed lookahead and its measuring steps."""

from __future__ import annotations

import pytest

from specdesk.core.lookahead import FixedLookahead


def test_k_tokens_with_now_and_then_a_plain_step_to_measure() -> None:
    plans = [FixedLookahead(4).plan(step, 100).n_draft for step in range(64)]
    measured = [step for step, n in enumerate(plans) if n == 0]
    assert measured == [1, 3, *range(8, 64, 8)]
    assert set(plans) == {0, 4}


def test_room_is_respected() -> None:
    assert [FixedLookahead(4).plan(0, room).n_draft for room in (0, 1, 3, 4, 9)] == [0, 1, 3, 4, 4]


def test_zero_is_plain() -> None:
    assert {FixedLookahead(0).plan(step, 9).n_draft for step in range(40)} == {0}


def test_negative_is_refused() -> None:
    with pytest.raises(ValueError, match="-1"):
        FixedLookahead(-1)


def test_a_plan_says_why() -> None:
    lookahead = FixedLookahead(4)
    assert [lookahead.plan(0, room).reason for room in (4, 3)] == ["fixed", "close to a limit"]
    assert lookahead.plan(1, 9).reason == "measuring plain decoding"
    assert FixedLookahead(0).plan(0, 9).reason == "plain decoding"
