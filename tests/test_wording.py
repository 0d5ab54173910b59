"""What is said of a lookahead that could not be had."""

from __future__ import annotations

from specdesk.core.lookahead import most_drafted
from specdesk.wording import notes


def test_a_limited_lookahead_names_the_width_and_what_is_left_of_it() -> None:
    [note] = notes(most_drafted(4, can_draft=True, widest=3), wanted=4, widest=3)
    assert "passes of up to 3 tokens" in note
    assert note.endswith("at most 2 are drafted, not 4")


def test_nothing_is_said_where_all_is_as_wanted() -> None:
    assert notes(4, wanted=4, widest=None) == notes(2, wanted=2, widest=3) == []
