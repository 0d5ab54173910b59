"""How one model is to be loaded: a record only, nothing native."""

from __future__ import annotations

from dataclasses import dataclass, replace

from specdesk.engine.cache_settings import CacheSettings
from specdesk.memory import CacheType
from specdesk.settings import ANYWHERE, NativeLibrary, Placing


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """How to load one model."""

    n_ctx: int
    n_threads: int
    n_gpu_layers: int
    """-1: all of them."""
    cache_type_k: CacheType = CacheType.F16
    cache_type_v: CacheType = CacheType.F16
    repack: bool = True
    """Whether weights are laid out anew for faster products on this CPU."""
    flash_attention: bool = True
    """Whether attention is computed piece by piece, by kernels of its own."""
    native: NativeLibrary = NativeLibrary.LLAMA
    within_training: bool = False
    """Whether the cache is to hold no more tokens than the model was trained for, where that is known."""
    placing: Placing = ANYWHERE
    n_sequences: int = 1
    """How many texts the cache can hold beside each other; all but the first only through `LlamaLM.put_cells`."""

    def cached(self, settings: CacheSettings) -> LoadOptions:
        """The same with these settings of the cache."""
        k, v = settings.cache_type_k, settings.cache_type_v
        flash = settings.flash_attention
        return replace(self, cache_type_k=k, cache_type_v=v, repack=settings.repack, flash_attention=flash)
