"""How much memory models take: one estimate for everything that speaks of it. Arithmetic only; sizes are bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

PASS_TOKENS: Final = 256
"""Most tokens of one pass. What a pass computes with grows with it."""


class CacheType(StrEnum):
    """How keys or values are stored in the cache."""

    F16 = "f16"
    F32 = "f32"
    Q8_0 = "q8_0"
    Q5_1 = "q5_1"
    Q5_0 = "q5_0"
    Q4_1 = "q4_1"
    Q4_0 = "q4_0"

    @property
    def block_bytes(self) -> int:
        """What 32 numbers take."""
        return _BLOCK_BYTES[self]


_BLOCK: Final = 32
_BLOCK_BYTES: Final = {
    CacheType.F16: 64,
    CacheType.F32: 128,
    CacheType.Q8_0: 34,
    CacheType.Q5_1: 24,
    CacheType.Q5_0: 22,
    CacheType.Q4_1: 20,
    CacheType.Q4_0: 18,
}


@dataclass(frozen=True, slots=True)
class CacheTypes:
    """Of keys, and of values."""

    k: CacheType = CacheType.F16
    v: CacheType = CacheType.F16


F16: Final = CacheTypes()
_CELLS: Final = 256
"""The cache holds a multiple of so many tokens."""
_PROCESS_BYTES: Final = 54 * 2**20
"""Python, NumPy, templates and llama.cpp with a model that takes nothing: measured."""
_TOKEN_BYTES: Final = 345
"""What llama.cpp and specdesk keep of each entry of a vocabulary: measured on one of 151,936."""
_WIDTHS: Final = 5
_INNER: Final = 3
"""What a pass computes with, in numbers per token, is about so many times the width of the model and of its
feed-forward layers: measured on models of 0.5B and 1.5B."""
_F32_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class ModelSize:
    """What decides how much memory a model takes; 0 where that is not known."""

    weights_bytes: int
    keys: int
    """Numbers that one token adds to the cache of keys, in all layers together. Layers that attend through a sliding
    window count as the others do: llama.cpp is asked to keep all of their cache, so that drafts can be taken back."""
    values: int
    """The same for values."""
    n_vocab: int = 0
    """With padding."""
    width: int = 0
    """Of the embedding."""
    inner: int = 0
    """Width of the feed-forward layers."""
    n_layers: int = 0
    n_ctx_train: int = 0

    def cache_bytes(self, n_ctx: int, types: CacheTypes = F16) -> int:
        """What a cache of so many tokens takes."""
        cells = -(-n_ctx // _CELLS) * _CELLS
        return cells * (self.keys * types.k.block_bytes + self.values * types.v.block_bytes) // _BLOCK

    @property
    def working_bytes(self) -> int:
        """What a pass computes with, but for its logits."""
        return PASS_TOKENS * _F32_BYTES * (_WIDTHS * self.width + _INNER * self.inner)

    @property
    def gpu_buffer_bytes(self) -> int:
        """What passes compute with on a GPU, where room for the logits of the widest pass is taken whole."""
        return self.working_bytes + PASS_TOKENS * _F32_BYTES * self.n_vocab

    def gpu_bytes(self, n_ctx: int, types: CacheTypes = F16) -> int:
        """All layers on a GPU."""
        return self.weights_bytes + self.cache_bytes(n_ctx, types) + self.gpu_buffer_bytes

    def memory_bytes(self, n_ctx: int, types: CacheTypes = F16) -> int:
        """All of it in the system's memory."""
        vocabulary = _TOKEN_BYTES * self.n_vocab
        return self.weights_bytes + self.cache_bytes(n_ctx, types) + vocabulary + self.working_bytes


def needed_bytes(models: Sequence[ModelSize], n_ctx: int, types: CacheTypes = F16) -> int:
    """What running a target, and its draft if there is one, takes in the system's memory, with no layers on a GPU.

    The draft's cache holds no more than it was trained for, whatever `n_ctx` says.
    """
    target, *drafts = models
    memory = target.memory_bytes(n_ctx, types)
    return _PROCESS_BYTES + memory + sum(d.memory_bytes(min(n_ctx, d.n_ctx_train or n_ctx), types) for d in drafts)
