"""How likely draft tokens stand, on toy models whose distributions are known, and against what decoding accepts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from specdesk.core.agreement import agreement
from specdesk.core.law import Law
from specdesk.core.lm import Logits
from specdesk.core.sampling import Sampling
from specdesk.core.warp import warp
from tests.toy.models import ToyLM, random_logits

PROMPT = [1, 2, 3]
ANSWER = [0, 4, 2, 2, 1, 3, 0, 1, 1, 4, 0]


class Widths(ToyLM):
    """Remembers how many tokens were read at once, each with its row."""

    def __init__(self, noise: float = 0.0) -> None:
        super().__init__(random_logits(5, 1, noise=noise), 5)
        self.widths: list[int] = []

    def extend(self, ids: Sequence[int], n_rows: int) -> Logits:
        if n_rows:
            assert n_rows == len(ids)
            self.widths.append(n_rows)
        return super().extend(ids, n_rows)


@pytest.mark.parametrize(
    "sampling", [Sampling(1.0, 0, 1.0, 0.0), Sampling(), Sampling(0.0), Sampling(1.0, repeat_penalty=1.5)]
)
def test_it_is_the_overlap_of_both_laws_behind_each_token(sampling: Sampling) -> None:
    target, draft = Widths(), Widths(noise=0.8)
    found = agreement(target, draft, PROMPT, ANSWER, Law(sampling))
    assert len(found) == len(ANSWER)
    for at, p in enumerate(found):
        text = [*PROMPT, *ANSWER[:at]]
        laws = [warp(lm.logits(text), sampling, sampling.seen(text)) for lm in (target, draft)]
        everything = np.arange(5)
        assert p == pytest.approx(float(np.minimum(*(law.probs_of(everything) for law in laws)).sum()))
    if sampling.temperature == 0:
        assert set(found) == {0.0, 1.0}


def test_passes_hold_eight_tokens_and_caches_end_with_the_prompt() -> None:
    target, draft = Widths(), Widths(noise=0.5)
    target.extend([1, 2, 3, 4], 0)
    agreement(target, draft, PROMPT, ANSWER, Law(Sampling()))
    for lm in (target, draft):
        assert lm.widths == [8, 3]
        assert list(lm.ids) == PROMPT[:-1]


def test_a_draft_that_is_the_target_always_stands() -> None:
    assert agreement(Widths(), Widths(), PROMPT, ANSWER, Law(Sampling())) == pytest.approx([1.0] * len(ANSWER))


def test_nothing_to_read_is_refused() -> None:
    for prompt, answer in (([], ANSWER), (PROMPT, [])):
        with pytest.raises(ValueError, match="tokens of a prompt"):
            agreement(Widths(), Widths(), prompt, answer, Law(Sampling()))
