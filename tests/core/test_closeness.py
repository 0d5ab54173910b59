"""How near two tokens were, on a toy model whose rows depend on how many tokens are read at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from specdesk.core.closeness import Closeness, closeness
from specdesk.core.lm import Logits
from tests.toy.models import ToyLM, random_logits

PROMPT = [1, 2, 3]
ANSWER = [0, 4, 2, 2, 1, 3, 0, 1]


class Rounding(ToyLM):
    """Adds `error` to token 2 in every row of a pass of more than one token."""

    def __init__(self, error: float) -> None:
        super().__init__(random_logits(5, 1), 5)
        self.widths: list[int] = []
        self._error = error

    def extend(self, ids: Sequence[int], n_rows: int) -> Logits:
        rows = super().extend(ids, n_rows)
        if n_rows:
            self.widths.append(len(ids))
        if n_rows > 1:
            rows[:, 2] += np.float32(self._error)
        return rows


@pytest.mark.parametrize("at", [0, 3, 7])
def test_gap_and_movement_of_the_two_tokens(at: int) -> None:
    lm = Rounding(0.25)
    row = lm.logits([*PROMPT, *ANSWER[:at]])
    found = closeness(lm, PROMPT, ANSWER, at, (2, 4), 3)
    assert found.gap == pytest.approx(abs(float(row[2] - row[4])))
    assert found.moved == pytest.approx(0.25)
    assert list(lm.ids) == PROMPT[:-1]


def test_what_moves_other_tokens_does_not_count() -> None:
    assert closeness(Rounding(0.25), PROMPT, ANSWER, 2, (1, 4), 3).moved == 0


def test_passes_begin_in_three_places_and_none_is_empty() -> None:
    lm = Rounding(0.1)
    closeness(lm, PROMPT, ANSWER, 2, (1, 4), 4)
    one_by_one, wide = lm.widths[:9], lm.widths[9:]
    assert one_by_one == [1] * 9
    assert wide == [1, 4, 4, 2, 4, 3, 4, 4, 1]


def test_a_tie_is_a_gap_that_twice_the_movement_covers() -> None:
    assert Closeness(0.5, 0.25).is_tie
    assert not Closeness(0.51, 0.25).is_tie
