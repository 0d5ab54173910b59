"""How likely the draft model's tokens would stand, at every place of an answer that is written already."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from specdesk.core.law import Law
from specdesk.core.lm import LanguageModel, Logits, rewind

_WIDTH: Final = 8
"""Tokens per pass: reading token by token would take as long as writing the answer did."""


def agreement(
    target: LanguageModel, draft: LanguageModel, prompt: Sequence[int], answer: Sequence[int], law: Law
) -> list[float]:
    """The probability that a token of the draft model stands as number i of `answer`, for each i, behind those before.

    It is the sum over all tokens of min(p, q), the acceptance of the rule `rejection` (Leviathan et al.,
    arXiv:2211.17192, section 3.2), so 0 or 1 where the law is greedy. Both models are read along the answer in passes
    of 8, which round in their own way: a tie may fall as it did not fall when the answer was written. Both caches hold
    the prompt less its last token afterwards.

    Raises: ValueError if prompt or answer is empty, or they do not fit into a context; Interrupted if stopped;
    FloatingPointError for unusable logits, of the draft as UnusableDraftError.
    """
    if not prompt or not answer:
        raise ValueError(f"{len(prompt)} tokens of a prompt, {len(answer)} of an answer")
    found: list[float] = []
    text = [*prompt, *answer]
    for p_rows, q_rows in zip(_read(target, prompt, answer), _read(draft, prompt, answer), strict=True):
        for p_row, q_row in zip(p_rows, q_rows, strict=True):
            before = text[: len(prompt) + len(found)]
            p, q = law.at(p_row, before), law.of_draft(q_row, before)
            # Of sums of probabilities rounding may leave a little more than 1.
            found.append(min(1.0, float(np.minimum(p.probs, q.probs_of(p.ids)).sum())))
    for lm in (target, draft):
        lm.truncate(len(prompt) - 1)
    return found


def _read(lm: LanguageModel, prompt: Sequence[int], answer: Sequence[int]) -> Iterator[Logits]:
    """The rows of all places of the answer, some at a time."""
    lm.extend(prompt[rewind(lm, prompt[:-1]) : -1], 0)
    text = [prompt[-1], *answer[:-1]]
    for start in range(0, len(text), _WIDTH):
        part = text[start : start + _WIDTH]
        yield lm.extend(part, len(part))
