"""The rows kept free below a text that grows."""

from __future__ import annotations

from specdesk.tui.widgets.headroom import SPARE, Headroom


def test_a_growing_text_is_given_more_room_once_every_few_rows() -> None:
    headroom = Headroom()
    given = []
    for n_rows in range(1, 41):
        if not headroom.fits(n_rows, grows=True):
            headroom.give(n_rows, grows=True)
            given.append(n_rows)
        assert n_rows <= headroom.give(n_rows, grows=True) <= n_rows + SPARE
    assert len(given) == 40 / (SPARE + 1)


def test_a_text_that_has_ended_has_its_own_rows_only() -> None:
    headroom = Headroom()
    headroom.give(7, grows=True)
    assert not headroom.fits(7, grows=False)
    assert headroom.give(7, grows=False) == 7
    assert headroom.fits(7, grows=False)
    assert not headroom.fits(6, grows=False)


def test_a_text_that_shrinks_gives_its_room_back() -> None:
    """When the screen widens, or rejected tokens are hidden."""
    headroom = Headroom()
    headroom.give(40, grows=True)
    assert not headroom.fits(20, grows=True)
    assert headroom.give(20, grows=True) == 20 + SPARE
