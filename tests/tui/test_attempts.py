"""What is tried: its result, or the error shown; an error that is none of ours is a bug, and goes its way."""

from __future__ import annotations

import pytest

from specdesk.errors import SpecdeskError, StorageError
from specdesk.tui.chat.attempts import done, result_of


class Owner:
    def __init__(self) -> None:
        self.shown: list[SpecdeskError] = []

    def show_error(self, error: SpecdeskError) -> None:
        self.shown.append(error)


@pytest.mark.parametrize("result", [None, False, 0, "", "x"])
def test_what_was_done_is_done_whatever_came_of_it(result: object) -> None:
    owner = Owner()
    assert done(lambda: result, owner) is True
    assert result_of(lambda: result, owner) is result
    assert owner.shown == []


def test_a_refusal_is_shown_once() -> None:
    owner, error = Owner(), StorageError("the disk is full")

    def refused() -> None:
        raise error

    assert done(refused, owner) is False
    assert owner.shown == [error]
    assert result_of(refused, owner) is None
    assert owner.shown == [error, error]


def test_a_bug_is_not_caught() -> None:
    owner, none = Owner(), dict[str, int]()
    for tried in (done, result_of):
        with pytest.raises(KeyError):
            tried(lambda: none["none"], owner)
    assert owner.shown == []
