"""What Ctrl+C means, press by press, on a clock of the test's own."""

from __future__ import annotations

import pytest

from specdesk.tui.chat.interrupt import SAID, InterruptKey, Meaning


def press(
    key: InterruptKey, now_s: float, *, selected: bool = False, answering: bool = False, written: bool = False
) -> Meaning:
    return key.press(now_s, selected=selected, answering=answering, written=written)


@pytest.mark.parametrize(
    ("apart_s", "second"), [(0.1, Meaning.QUIT), (3.0, Meaning.QUIT), (3.1, Meaning.WARN), (60.0, Meaning.WARN)]
)
def test_one_press_never_quits_and_two_quit_soon_enough(apart_s: float, second: Meaning) -> None:
    key = InterruptKey(within_s=3.0)
    assert press(key, 100.0) is Meaning.WARN
    assert press(key, 100.0 + apart_s) is second


def test_a_draft_is_put_away_before_anything_ends() -> None:
    key = InterruptKey()
    assert press(key, 1.0, written=True) is Meaning.PUT_AWAY
    assert press(key, 2.0, written=True) is Meaning.PUT_AWAY
    assert press(key, 3.0) is Meaning.QUIT


def test_an_answer_is_stopped_and_the_next_press_warns() -> None:
    """An impatient second press must not take the chat along."""
    key = InterruptKey()
    assert press(key, 1.0) is Meaning.WARN
    assert press(key, 1.5, answering=True, written=True) is Meaning.STOP
    assert press(key, 1.6) is Meaning.WARN


def test_a_selection_is_copied_and_the_warning_is_over() -> None:
    key = InterruptKey()
    press(key, 1.0)
    assert press(key, 1.1, selected=True, answering=True, written=True) is Meaning.COPY
    assert press(key, 1.2) is Meaning.WARN


def test_whatever_arms_it_says_so() -> None:
    assert set(SAID) == {Meaning.PUT_AWAY, Meaning.WARN}
    assert all("Ctrl+C again" in said for said in SAID.values())
