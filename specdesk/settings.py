"""What the user may set, resolved once into frozen records that are handed down."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

DEFAULT_N_CTX = 4096

CONTEXTS: Final = (16, 2**22)
"""The smallest and the largest context that may be asked for. The others likewise."""
SEEDS: Final = (0, 2**63 - 1)
ANSWER_TOKENS: Final = (1, 2**31)
LOOKAHEADS: Final = (0, 64)

PROVEN_LOOKAHEAD = 4
"""Draft tokens per target pass where claims are tried, whether they pay or not."""


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
    """Layers of the target on the GPU; None: all, where the build has a GPU backend."""
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
