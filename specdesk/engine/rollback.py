"""How far back a cache can be cut, found by trying: what is told of a kind of cache may not hold for this build."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from specdesk.core.lm import LanguageModel
from specdesk.errors import ModelError
from specdesk.settings import LOOKAHEADS

_PREFIX: Final = 3
_TOLERANCE: Final = 1e-3
"""Most that a logit may differ after the same tokens in the same passes, once others were there in between. A token
left behind moves logits by far more."""


def most_cut(cache: LanguageModel) -> int:
    """How many tokens at its end the cache can be cut back by and then says what it would have said without them.

    Tried are the longest draft there may be and its halves. The cache is empty before, and its content no matter after.
    """
    n = LOOKAHEADS[1]
    while n and not _comes_back(cache, n):
        n //= 2
    return n


def _comes_back(cache: LanguageModel, n: int) -> bool:
    ids = [token % cache.n_vocab for token in range(_PREFIX + 1 + n)]
    prefix, asked, rejected = ids[:_PREFIX], ids[_PREFIX : _PREFIX + 1], ids[_PREFIX + 1 :]
    try:
        expected = _row(cache, prefix, (), asked)
        found = _row(cache, prefix, rejected, asked)
    except ModelError:
        return False
    return bool(np.allclose(expected, found, rtol=0, atol=_TOLERANCE))


def _row(cache: LanguageModel, prefix: Sequence[int], rejected: Sequence[int], asked: Sequence[int]) -> list[float]:
    """The logits behind prefix and `asked`, after `rejected` was there and was taken back."""
    cache.truncate(0)
    cache.extend(prefix, 0)
    if rejected:
        cache.extend(rejected, 0)
        cache.truncate(len(prefix))
    row: list[float] = cache.extend(asked, 1)[0].tolist()
    return row
