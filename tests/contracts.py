"""What every LanguageModel must do, as tests. A class for one kind of model inherits them and says how to make one."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
import pytest

from specdesk.core.lm import LanguageModel, Logits, rewind

MakeLM = Callable[[int], LanguageModel]
"""An empty model whose cache holds that many tokens. Two of one factory are the same model."""


class LanguageModelContract:
    """Inherit as Test..., with a fixture `make` of type MakeLM."""

    TOLERANCE: ClassVar[float] = 0.0
    """Most that a logit may differ when the same tokens are fed in other pieces."""
    LONG: ClassVar[int] = 100
    """Tokens of a long prompt: more than the model feeds in one go, if it has such a limit."""

    def ids(self, lm: LanguageModel, n: int, seed: int = 0) -> list[int]:
        return [int(token) for token in np.random.default_rng(seed).integers(lm.n_vocab, size=n)]

    def fresh_rows(self, make: MakeLM, ids: list[int], n_rows: int) -> Logits:
        """The last rows of `ids`, each token fed alone."""
        lm = make(len(ids))
        rows = [lm.extend([token], 1).copy() for token in ids]
        return np.concatenate(rows)[len(ids) - n_rows :]

    def same(self, one: Logits, other: Logits) -> None:
        np.testing.assert_allclose(one, other, rtol=0, atol=self.TOLERANCE)

    def test_starts_empty(self, make: MakeLM) -> None:
        lm = make(32)
        assert list(lm.ids) == []
        assert lm.n_ctx == 32

    def test_rows_equal_tokens_fed_one_by_one(self, make: MakeLM) -> None:
        lm = make(32)
        ids = self.ids(lm, 12)
        rows = lm.extend(ids, 12)
        assert rows.shape == (12, lm.n_vocab)
        assert rows.dtype == np.float32
        self.same(rows, self.fresh_rows(make, ids, 12))

    def test_rows_depend_on_all_that_went_before(self, make: MakeLM) -> None:
        """Else the comparisons here would say nothing."""
        lm = make(32)
        a, b, *rest = self.ids(lm, 8)
        row = lm.extend([a, b, *rest], 1).copy()
        lm.truncate(0)
        other = lm.extend([b, a, *rest], 1)
        assert np.abs(row - other).max() > max(10 * self.TOLERANCE, 0.01)

    @pytest.mark.parametrize("n_rows", [0, 1, 3])
    def test_only_the_last_rows(self, make: MakeLM, n_rows: int) -> None:
        lm = make(32)
        ids = self.ids(lm, 9)
        rows = lm.extend(ids, n_rows)
        assert rows.shape == (n_rows, lm.n_vocab)
        assert list(lm.ids) == ids
        self.same(rows, self.fresh_rows(make, ids, n_rows))

    def test_tokens_fed_without_rows_count(self, make: MakeLM) -> None:
        lm = make(32)
        ids = self.ids(lm, 9)
        lm.extend(ids[:8], 0)
        self.same(lm.extend(ids[8:], 1), self.fresh_rows(make, ids, 1))

    @pytest.mark.parametrize("n_rows", [0, 1, 5])
    def test_a_long_prompt_in_one_call(self, make: MakeLM, n_rows: int) -> None:
        lm = make(self.LONG)
        ids = self.ids(lm, self.LONG)
        rows = lm.extend(ids, n_rows)
        assert list(lm.ids) == ids
        self.same(rows, self.fresh_rows(make, ids, n_rows))

    def test_nothing_to_feed(self, make: MakeLM) -> None:
        lm = make(32)
        assert lm.extend([], 0).shape == (0, lm.n_vocab)
        assert list(lm.ids) == []

    @pytest.mark.parametrize("length", [0, 1, 7, 11, 12])
    def test_cut_back_and_extended_equals_fresh(self, make: MakeLM, length: int) -> None:
        lm = make(32)
        ids, other = self.ids(lm, 12), self.ids(lm, 6, seed=1)
        lm.extend(ids, 4)
        lm.truncate(length)
        assert list(lm.ids) == ids[:length]
        rows = lm.extend(other, 6)
        assert list(lm.ids) == ids[:length] + other
        self.same(rows, self.fresh_rows(make, ids[:length] + other, 6))

    @pytest.mark.parametrize("length", [-1, 6])
    def test_cutting_outside_the_cache_is_refused(self, make: MakeLM, length: int) -> None:
        lm = make(32)
        ids = self.ids(lm, 5)
        lm.extend(ids, 0)
        with pytest.raises(ValueError, match=str(length)):
            lm.truncate(length)
        assert list(lm.ids) == ids

    @pytest.mark.parametrize("n_rows", [-1, 4])
    def test_rows_that_nothing_was_fed_for_are_refused(self, make: MakeLM, n_rows: int) -> None:
        lm = make(32)
        with pytest.raises(ValueError, match=str(n_rows)):
            lm.extend(self.ids(lm, 3), n_rows)
        assert list(lm.ids) == []

    def test_the_context_can_be_filled_but_not_overfilled(self, make: MakeLM) -> None:
        lm = make(16)
        ids = self.ids(lm, 16)
        lm.extend(ids[:10], 0)
        with pytest.raises(ValueError, match="fit"):
            lm.extend(ids[:7], 1)
        assert list(lm.ids) == ids[:10]
        self.same(lm.extend(ids[10:], 1), self.fresh_rows(make, ids, 1))
        with pytest.raises(ValueError, match="fit"):
            lm.extend(ids[:1], 1)

    def test_rewinding_keeps_the_shared_prefix(self, make: MakeLM) -> None:
        lm = make(32)
        ids = self.ids(lm, 8)
        lm.extend(ids, 0)
        changed = [*ids[:5], (ids[5] + 1) % lm.n_vocab, *ids[6:]]
        assert rewind(lm, changed) == 5
        assert list(lm.ids) == ids[:5]
        self.same(lm.extend(changed[5:], 1), self.fresh_rows(make, changed, 1))
