"""What is said of a lookahead that could not be had."""

from __future__ import annotations

from collections import Counter

from specdesk.core.acceptance import Record
from specdesk.core.costs import PairCosts
from specdesk.core.events import Outcome
from specdesk.core.lookahead import most_drafted
from specdesk.core.tally import Tally
from specdesk.wording import notes, seldom_paid
from tests.toy.costs import flat


def test_a_limited_lookahead_names_the_width_and_what_is_left_of_it() -> None:
    [note] = notes(most_drafted(4, can_draft=True, widest=3), wanted=4, widest=3)
    assert "passes of up to 3 tokens" in note
    assert note.endswith("at most 2 are drafted, not 4")


def test_nothing_is_said_where_all_is_as_wanted() -> None:
    assert notes(4, wanted=4, widest=None) == notes(2, wanted=2, widest=3) == []


def test_another_reason_takes_the_place_of_exact_modes() -> None:
    assert notes(0, wanted=None, widest=1, limit="it is gone") == ["running without speculation: it is gone"]
    assert notes(4, wanted=8, widest=None, limit="no more can be taken back") == ["no more can be taken back"]
    assert notes(0, wanted=0, widest=None, limit="it is gone") == []


def tally_of(drafted: int, accepted: int, generated: int) -> Tally:
    outcomes = Counter({Outcome.ACCEPTED: accepted, Outcome.REJECTED: drafted - accepted})
    return Tally(generated_tokens=generated, outcomes=outcomes)


def test_why_hardly_anything_was_drafted_is_said_in_measured_figures() -> None:
    costs = PairCosts(flat([1.0, 1.7, 2.4, 2.9], (1, 2, 3, 4)), flat([0.3], (1,)))
    said = seldom_paid(tally_of(0, 0, 100), costs)
    assert said is not None
    assert "a draft step takes 30% of a plain token's time" in said
    assert "a pass over 4 tokens 2.9 times" in said
    assert "stood" not in said
    said = seldom_paid(tally_of(10, 1, 100), costs)
    assert said is not None
    assert said.endswith("and of those drafted 1 of 10 (10%) stood")


def test_a_draft_that_was_not_asked_for_what_it_did_before_says_so() -> None:
    costs = PairCosts(flat([1.0, 1.1], (1, 2)), flat([0.02], (1,)))
    said = seldom_paid(tally_of(0, 0, 100), costs, Record(0.2, 3.4))
    assert said is not None
    assert said.endswith("and of earlier drafts 0 tokens stood where 3 were expected")
    for tally, record in ((tally_of(0, 0, 100), Record(3.0, 3.4)), (tally_of(0, 0, 100), Record(0.0, 0.0))):
        said = seldom_paid(tally, costs, record)
        assert said is not None
        assert "earlier" not in said
    said = seldom_paid(tally_of(10, 1, 100), costs, Record(0.2, 3.4))
    assert said is not None
    assert "earlier" not in said


def test_nothing_is_said_where_drafting_took_part_or_there_is_no_draft_model() -> None:
    target, draft = flat([1.0, 1.1], (1, 2)), flat([0.1], (1,))
    assert seldom_paid(tally_of(80, 60, 100), PairCosts(target, draft)) is None
    assert seldom_paid(tally_of(0, 0, 100), PairCosts(target)) is None
    assert seldom_paid(tally_of(0, 0, 100), None) is None
