"""How a target's cache is kept, and what that makes of passes over several tokens."""

from __future__ import annotations

from dataclasses import dataclass

from specdesk.memory import CacheType


@dataclass(frozen=True, slots=True)
class CacheSettings:
    """Settings of a target's context that decide which widths are invariant."""

    cache_type_k: CacheType
    cache_type_v: CacheType
    repack: bool
    flash_attention: bool = True

    @property
    def changes(self) -> str:
        """What is otherwise than by default, in words; empty if nothing is."""
        caches = [
            f"{what} are cached as {kind}"
            for what, kind in (("keys", self.cache_type_k), ("values", self.cache_type_v))
            if kind is not CacheType.F16
        ]
        repack = [] if self.repack else ["weights are not repacked"]
        return " and ".join([*caches, *repack, *([] if self.flash_attention else ["flash attention is off"])])


@dataclass(frozen=True, slots=True)
class Invariance:
    """What a probe found."""

    settings: CacheSettings
    width: int
    """Every pass of 1 to this many tokens gives the logits, and leaves the cache, of one-token passes; 1: no wider."""
    n_ctx: int
    """The context for which that was probed, up to 280,000 tokens of it."""
