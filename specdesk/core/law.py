"""What a row of logits is sampled from: the same for target and draft, and for every row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

from specdesk.core.candidates import Row
from specdesk.core.constraint import Constraint
from specdesk.core.sampling import Sampling
from specdesk.core.warp import Distribution, warp


class UnusableDraftError(FloatingPointError):
    """The draft model's logits are no numbers, or none of them is finite."""


@dataclass(frozen=True, slots=True)
class Law:
    """How one answer is sampled: the sampling and, if there is one, the constraint, both as functions of the text."""

    sampling: Sampling
    constraint: Constraint | None = None
    answer_start: int = 0
    """Where the answer begins in the text: a constraint is about the answer alone."""

    @property
    def reads_text(self) -> bool:
        """Whether it depends on the text at all, and not on the logits alone."""
        return self.constraint is not None or self.sampling.window != 0

    @property
    def unconstrained(self) -> Self:
        """The same without the constraint."""
        return replace(self, constraint=None)

    def at(self, row: Row, text: Sequence[int]) -> Distribution:
        """The distribution of the token behind `text`, whose logits are `row`, shape (n_vocab,).

        `text` is prompt and answer so far, drafts included; it may be empty if the law does not read it.
        Raises as `warp` does.
        """
        allowed = None
        if self.constraint is not None:
            allowed = partial(self.constraint.allowed, text[self.answer_start :])
        return warp(row, self.sampling, self.sampling.seen(text), allowed)

    def of_draft(self, row: Row, text: Sequence[int]) -> Distribution:
        """The same of the draft model's logits. Raises UnusableDraftError where they cannot be used, and DeadEnd."""
        try:
            return self.at(row, text)
        except FloatingPointError as error:
            raise UnusableDraftError(str(error)) from error
