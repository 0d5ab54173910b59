"""What keeps an answer within a grammar: which tokens may come next, as a pure function of the answer so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Allowed = Callable[[NDArray[np.int64]], NDArray[np.bool_]]
"""Which of `ids` (n,) may come next, shape (n,). Asking costs time for each id, so ask for few."""


class Constraint(Protocol):
    """A constraint on one answer. Nothing it was asked leaves a trace: there is no state that could go stale."""

    def allowed(self, answer: Sequence[int], ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of `ids` (n,) may follow `answer`, all of whose tokens were allowed in turn; shape (n,)."""

    def forced(self, answer: Sequence[int]) -> list[int]:
        """Tokens of the text that must follow `answer`, whatever the model says; empty where there is a choice."""


class DeadEnd(Exception):  # noqa: N818 — where an answer got to, not an error in the code
    """The constraint allows none of the tokens the model can write here."""

    def __init__(self) -> None:
        super().__init__("the constraint allows no token here")
