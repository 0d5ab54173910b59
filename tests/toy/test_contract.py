"""The toy model keeps the contract that it stands in for."""

from __future__ import annotations

import pytest

from tests.contracts import LanguageModelContract, MakeLM
from tests.toy.models import ToyLM, random_logits


class TestToyLM(LanguageModelContract):
    @pytest.fixture
    def make(self) -> MakeLM:
        return lambda n_ctx: ToyLM(random_logits(5, seed=2), 5, n_ctx)
