"""What the user may set, resolved once into frozen records that are handed down."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from specdesk.memory import CacheType

DEFAULT_N_CTX = 4096

CONTEXTS: Final = (16, 2**22)
"""The smallest and the largest context that may be asked for. The others likewise."""
SEEDS: Final = (0, 2**63 - 1)
ANSWER_TOKENS: Final = (1, 2**31)
LOOKAHEADS: Final = (0, 64)

PROVEN_LOOKAHEAD = 4
"""Draft tokens per target pass where claims are tried, whether they pay or not."""


class NativeLibrary(StrEnum):
    """What computes."""

    LLAMA = "llama"
    """llama.cpp, which is always here."""
    IK = "ik"
    """ik_llama.cpp, a fork for processors, where the package for it is installed."""

    @property
    def full_name(self) -> str:
        """As its makers write it."""
        return "ik_llama.cpp" if self is NativeLibrary.IK else "llama.cpp"


class LoadMode(StrEnum):
    """How weights get into memory."""

    AUTO = "auto"
    """Mapped, unless they are laid out anew for this processor."""
    MAP = "map"
    """Mapped: the system may drop pages and read them again."""
    READ = "read"
    LOCK = "lock"
    """As auto, and kept from being swapped out."""


@dataclass(frozen=True, slots=True)
class Placing:
    """Where models are put, beside the numbers of layers."""

    main_gpu: int | None = None
    """The GPU, counted from 0, that takes all that goes to one; None: they share it."""
    tensor_split: tuple[float, ...] = ()
    """In which proportions they do; empty: by their free memory."""
    load_mode: LoadMode = LoadMode.AUTO


ANYWHERE: Final = Placing()
"""All of it left to llama.cpp."""


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Which models to load, and how."""

    target: Path
    draft: Path | None = None
    """None: only text that was seen before is drafted, or that a grammar forces."""
    n_ctx: int = DEFAULT_N_CTX
    """Tokens each model's cache can hold."""
    n_threads: int | None = None
    """None: as many as this process has physical cores to itself."""
    n_gpu_layers: int | None = None
    """Layers of the target on the GPU; None: as many as fit, where llama.cpp can use one."""
    draft_n_gpu_layers: int | None = None
    """The same for the draft."""
    exact: bool = False
    """Verify only in passes that compute, bit for bit, what one-token passes compute."""
    speculate: bool = True
    """Whether anything is to be drafted at all. Else the draft is not loaded, and only tells which pair this is."""
    measure: bool = True
    """Whether what passes cost is measured, where anything is to be drafted."""
    asks_draft: bool = True
    """Whether the draft model is ever asked. Else it is not loaded either."""
    chat_template: str | None = None
    """A Jinja template in the place of the target's own."""
    allow_plain: bool = False
    """Whether to decode plainly where the draft cannot be loaded or may not draft for the target; else that is an
    error."""
    cache_type_k: CacheType | None = None
    """How both models cache keys; None: as f16, or as `specdesk tune` or exact mode choose for the target."""
    cache_type_v: CacheType | None = None
    """The same for values."""
    placing: Placing = ANYWHERE
    engine: NativeLibrary | None = NativeLibrary.LLAMA
    """What computes; None: what is measured to be faster."""
