"""A draft model that never proposes certain tokens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from specdesk.core.lm import LanguageModel, Logits


class Restricted:
    """A LanguageModel whose logits are another's, but minus infinity for banned tokens.

    What is drawn from them is drawn from the distribution without those tokens, normalised anew, and that same
    distribution is the q of the accept rule: so the ban costs acceptance where the target writes one of them, and never
    exactness. The text may hold banned tokens; they are read as the other model reads them.
    """

    def __init__(self, lm: LanguageModel, banned: Sequence[int], n_vocab: int) -> None:
        """Rows have `n_vocab` tokens at most, those the target can write.

        Raises ValueError where nothing would be left to propose.
        """
        self._lm = lm
        self._n_vocab = min(lm.n_vocab, n_vocab)
        ids = np.unique(np.fromiter(banned, np.int64))
        self._banned = ids[ids < self._n_vocab]
        if self._banned.size == self._n_vocab:
            raise ValueError("every token is banned")

    @property
    def n_vocab(self) -> int:
        """Width of a logits row."""
        return self._n_vocab

    @property
    def n_ctx(self) -> int:
        """Most tokens the cache can hold."""
        return self._lm.n_ctx

    @property
    def ids(self) -> Sequence[int]:
        """The tokens in the cache."""
        return self._lm.ids

    def extend(self, ids: Sequence[int], n_rows: int) -> Logits:
        """As the other model does. The rows are a copy: the model's own are not to be written to."""
        rows = self._lm.extend(ids, n_rows)[:, : self._n_vocab].copy()
        rows[:, self._banned] = -np.inf
        return rows

    def truncate(self, length: int) -> None:
        """Cut the other model's cache back."""
        self._lm.truncate(length)

    def cut_point(self, length: int) -> int:
        """Where the other model's cache can be cut."""
        return self._lm.cut_point(length)


def without(lm: LanguageModel, banned: Sequence[int], n_vocab: int) -> LanguageModel:
    """The model itself where nothing is banned, and else restricted."""
    return Restricted(lm, banned, n_vocab) if banned else lm
