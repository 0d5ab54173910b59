"""How near two tokens were where two answers parted, and how far rounding moves logits there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from specdesk.core.lm import LanguageModel, rewind


@dataclass(frozen=True, slots=True)
class Closeness:
    """Two tokens after the same text."""

    gap: float
    """Between their logits, in one-token passes."""
    moved: float
    """The furthest that any logit of any row moves, up to there, when the answer is read in wider passes."""

    @property
    def is_tie(self) -> bool:
        """Whether rounding can explain that one run took the one and another the other: each may move the other way."""
        return self.gap <= 2 * self.moved


def closeness(
    lm: LanguageModel, prompt: Sequence[int], answer: Sequence[int], tokens: tuple[int, int], width: int
) -> Closeness:
    """How near `tokens` are behind `prompt` and `answer`, which is read once token by token, once in passes of `width`.

    The cache holds the prompt less its last token afterwards.
    """
    start = len(prompt) - 1
    n_shared = rewind(lm, prompt[:-1])
    lm.extend(prompt[n_shared:-1], 0)
    text = [prompt[-1], *answer]
    one_by_one = [lm.extend([token], 1)[0].copy() for token in text]
    lm.truncate(start)
    moved = 0.0
    for at in range(0, len(text), width):
        rows = lm.extend(text[at : at + width], len(text[at : at + width]))
        reference = one_by_one[at : at + width]
        moved = max(moved, *(float(np.abs(row - other).max()) for row, other in zip(rows, reference, strict=True)))
    lm.truncate(start)
    first, second = tokens
    return Closeness(abs(float(one_by_one[-1][first] - one_by_one[-1][second])), moved)
