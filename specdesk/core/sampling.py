"""How to sample, as a user sets it."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sampling:
    """How to sample. Applied in llama.cpp's order: top-k, top-p, min-p, then temperature.

    Raises ValueError, naming the value, for anything outside its range.
    """

    temperature: float = 0.8
    """0 is greedy: the highest logit, the lowest id among equals."""
    top_k: int = 40
    """Keep the k highest logits; 0 keeps all."""
    top_p: float = 0.95
    """Keep the fewest tokens whose probability at temperature 1 reaches this; 1 keeps all."""
    min_p: float = 0.05
    """Drop tokens less probable than this times the most probable one; 0 drops none."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature >= 0):
            raise ValueError(f"temperature must be 0 or more, not {self.temperature}")
        if self.top_k < 0:
            raise ValueError(f"top-k must be 0 (off) or more, not {self.top_k}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top-p must be above 0 and at most 1, not {self.top_p}")
        if not 0 <= self.min_p <= 1:
            raise ValueError(f"min-p must be between 0 and 1, not {self.min_p}")
