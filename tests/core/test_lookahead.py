"""The fixed lookahead."""

from __future__ import annotations

import pytest

from specdesk.core.drafters.protocol import Drafter, Prospect
from specdesk.core.lookahead import MOST_ADAPTIVE, FixedLookahead, most_drafted
from tests.toy.drafters import MANY, SURE, OneHot, seen_before

ONE, OTHER = OneHot(seen_before), OneHot(seen_before)


def offers(*drafters: Drafter, most: int = MANY) -> dict[Drafter, Prospect]:
    return {drafter: Prospect(most, SURE) for drafter in drafters}


def test_k_tokens_of_the_first_drafter() -> None:
    plan = FixedLookahead(4).plan(7, 100, offers(ONE, OTHER))
    assert (plan.n_draft, plan.drafter) == (4, ONE)


def test_room_is_respected() -> None:
    plans = [FixedLookahead(4).plan(7, room, offers(ONE)) for room in (0, 1, 3, 4, 9)]
    assert [plan.n_draft for plan in plans] == [0, 1, 3, 4, 4]
    assert plans[0].drafter is None


def test_what_a_drafter_has_is_respected() -> None:
    assert FixedLookahead(4).plan(7, 9, offers(ONE, most=2)).n_draft == 2


def test_zero_is_plain() -> None:
    assert FixedLookahead(0).plan(7, 9, offers(ONE)).n_draft == 0


def test_negative_is_refused() -> None:
    with pytest.raises(ValueError, match="-1"):
        FixedLookahead(-1)


def test_a_plan_says_why() -> None:
    lookahead = FixedLookahead(4)
    assert [lookahead.plan(7, room, offers(ONE)).reason for room in (4, 3, 0)] == ["fixed", *["close to a limit"] * 2]
    assert lookahead.plan(7, 9, {}).reason == "nothing to draft"
    assert FixedLookahead(0).plan(7, 9, offers(ONE)).reason == "plain decoding"


@pytest.mark.parametrize(
    ("wanted", "can_draft", "widest", "most"),
    [(4, True, None, 4), (4, True, 3, 2), (4, False, None, 0), (None, True, None, MOST_ADAPTIVE), (None, True, 9, 8)],
)
def test_most_drafted(wanted: int | None, can_draft: bool, widest: int | None, most: int) -> None:
    assert most_drafted(wanted, can_draft=can_draft, widest=widest) == most
