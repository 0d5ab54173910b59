"""How near two tokens were where two answers parted, and how far rounding moves them against each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specdesk.core.lm import LanguageModel, rewind


@dataclass(frozen=True, slots=True)
class Closeness:
    """Two tokens after the same text."""

    gap: float
    """Between their logits, in one-token passes."""
    moved: float
    """The most by which that gap changes anywhere in the answer when it is read in wider passes."""

    @property
    def is_tie(self) -> bool:
        """Whether rounding can explain that one run took the one and another the other.

        Twice what was seen to move: an answer has a hundred places, and the one in question was read behind other
        passes than those that were tried.
        """
        return self.gap <= 2 * self.moved


def closeness(
    lm: LanguageModel, prompt: Sequence[int], answer: Sequence[int], at: int, tokens: tuple[int, int], width: int
) -> Closeness:
    """How near `tokens` are as number `at` (0-based) of `answer`, and how far passes of `width` tokens move them.

    The answer is read token by token, then in passes of `width` that begin at its first, a middle and a last token of
    such a pass. The cache holds the prompt less its last token afterwards.
    """
    start = len(prompt) - 1
    lm.extend(prompt[rewind(lm, prompt[:-1]) : -1], 0)
    text = [prompt[-1], *answer]
    gaps = _gaps(lm, text, tokens, [1] * len(text))
    moved = 0.0
    for first in sorted({width, (width + 1) // 2, 1}):
        lm.truncate(start)
        widths = [first, *([width] * (len(text) // width + 1))]
        wide = _gaps(lm, text, tokens, widths)
        moved = max(moved, *(abs(one - other) for one, other in zip(gaps, wide, strict=True)))
    lm.truncate(start)
    return Closeness(abs(gaps[at]), moved)


def _gaps(lm: LanguageModel, text: Sequence[int], tokens: tuple[int, int], widths: Sequence[int]) -> list[float]:
    """The first token's lead over the second behind each token of `text`, read in passes of `widths`."""
    first, second = tokens
    gaps: list[float] = []
    for width in widths:
        if part := text[len(gaps) : len(gaps) + width]:
            gaps.extend(float(row[first] - row[second]) for row in lm.extend(part, len(part)))
    return gaps
