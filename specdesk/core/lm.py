"""What the algorithm needs from a language model and from a vocabulary, and nothing more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Logits = NDArray[np.float32]
"""Shape (n, n_vocab); row i scores what follows the i-th token asked about."""


class LanguageModel(Protocol):
    """An autoregressive model with a cache that can be extended and cut back."""

    @property
    def n_vocab(self) -> int:
        """Width of a logits row."""

    @property
    def n_ctx(self) -> int:
        """Most tokens the cache can hold."""

    @property
    def ids(self) -> Sequence[int]:
        """The tokens whose keys and values the cache holds, in order. Not to be changed by the reader."""

    def extend(self, ids: Sequence[int], n_rows: int) -> Logits:
        """Feed `ids` (n,) and return the logits behind the last `n_rows` of them, shape (n_rows, n_vocab).

        The result is a view: it is valid until the next call on this model.
        Raises: ValueError if the tokens do not fit or n_rows > n; Interrupted if stopped half-way; `LanguageModel.ids`
        tells what the cache holds then.
        """

    def truncate(self, length: int) -> None:
        """Cut the cache back to its first `length` tokens. Raises an error of its own if this kind of cache cannot."""

    def cut_point(self, length: int) -> int:
        """How many of its first `length` tokens the cache can keep: all, or none where it cannot be cut there."""


class Vocabulary(Protocol):
    """What a token is as text."""

    def piece(self, token: int) -> bytes:
        """The bytes the token adds to an answer; empty for control tokens."""

    def is_eog(self, token: int) -> bool:
        """Whether the token ends the answer."""


def rewind(lm: LanguageModel, ids: Sequence[int]) -> int:
    """Cut `lm` back to the longest prefix its cache shares with `ids`, as far as it can be; returns what is left."""
    length = lm.cut_point(n_common(lm.ids, ids))
    if length < len(lm.ids):
        lm.truncate(length)
    return length


def n_common(one: Sequence[int], other: Sequence[int]) -> int:
    """Length of the longest common prefix."""
    low, high = 0, min(len(one), len(other))
    if list(one[:high]) == list(other[:high]):
        return high
    # Slices compare a hundred times faster than a loop, and texts of thousands of tokens are compared at each of them.
    while low < high:
        middle = (low + high + 1) // 2
        if list(one[low:middle]) == list(other[low:middle]):
            low = middle
        else:
            high = middle - 1
    return low
