"""How to sample, as a user sets it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class SamplerName(StrEnum):
    """The samplers there are, as llama.cpp calls them."""

    PENALTIES = "penalties"
    TOP_N_SIGMA = "top_n_sigma"
    TOP_K = "top_k"
    TYPICAL_P = "typ_p"
    TOP_P = "top_p"
    MIN_P = "min_p"
    TEMPERATURE = "temperature"


DEFAULT_SAMPLERS = tuple(SamplerName)
"""llama.cpp's order; its common sampler has DRY and XTC besides, off unless asked for."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How to sample, with llama.cpp's defaults: the logit bias first, then `samplers` in their order.

    Raises ValueError, naming the value, for anything outside its range.
    """

    temperature: float = 0.8
    """0 is greedy: the highest logit, the lowest id among equals."""
    top_k: int = 40
    """Keep the k highest logits; 0 keeps all."""
    top_p: float = 0.95
    """Keep the fewest tokens whose probability reaches this; 1 keeps all."""
    min_p: float = 0.05
    """Drop tokens less probable than this times the most probable one; 0 drops none."""
    typical_p: float = 1.0
    """Keep the tokens whose surprise is nearest the expected one until they reach this probability; 1 keeps all."""
    top_n_sigma: float = 0.0
    """Drop logits more than this many standard deviations below the highest; 0 or less drops none."""
    repeat_penalty: float = 1.0
    """Divide the positive and multiply the negative logits of tokens seen lately by this; 1 leaves them."""
    frequency_penalty: float = 0.0
    """Take this off a logit for each time its token was seen lately."""
    presence_penalty: float = 0.0
    """Take this off a logit once if its token was seen lately."""
    repeat_last_n: int = 64
    """How many tokens back lately goes, prompt included; 0 turns the penalties off, -1 is all of the text."""
    logit_bias: tuple[tuple[int, float], ...] = ()
    """Pairs of token id and what is added to its logit; minus infinity bans it."""
    samplers: tuple[SamplerName, ...] = DEFAULT_SAMPLERS
    """What is applied, in this order; a sampler left out is not, whatever its own setting says."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature >= 0):
            raise ValueError(f"temperature must be 0 or more, not {self.temperature}")
        if self.top_k < 0:
            raise ValueError(f"top-k must be 0 (off) or more, not {self.top_k}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top-p must be above 0 and at most 1, not {self.top_p}")
        if not 0 < self.typical_p <= 1:
            raise ValueError(f"typical-p must be above 0 and at most 1, not {self.typical_p}")
        if not (math.isfinite(self.repeat_penalty) and self.repeat_penalty > 0):
            raise ValueError(f"the repeat penalty must be above 0, not {self.repeat_penalty}")
        for name in ("frequency_penalty", "presence_penalty", "top_n_sigma"):
            if not math.isfinite(getattr(self, name)):
                raise ValueError(f"{name.replace('_', '-')} must be a number, not {getattr(self, name)}")
        if self.repeat_last_n < -1:
            raise ValueError(f"repeat-last-n must be -1 (all), 0 (off) or more, not {self.repeat_last_n}")
        for token, bias in self.logit_bias:
            if token < 0 or math.isnan(bias) or bias == math.inf:
                raise ValueError(f"a logit bias takes a token id and a number, not {token} and {bias}")
        if not 0 <= self.min_p <= 1:
            raise ValueError(f"min-p must be between 0 and 1, not {self.min_p}")
        for name in self.samplers:
            if self.samplers.count(name) > 1:
                raise ValueError(f"a sampler is applied once at most, not {self.samplers.count(name)} times: {name}")

    @property
    def applied_temperature(self) -> float:
        """The temperature that is in force: 1 if no sampler applies it."""
        return self.temperature if SamplerName.TEMPERATURE in self.samplers else 1.0

    @property
    def window(self) -> int:
        """Tokens of the text so far that the penalties look at; 0 if they are off, -1 for all of them."""
        neutral = self.repeat_penalty == 1 and self.frequency_penalty == 0 and self.presence_penalty == 0
        return 0 if neutral or SamplerName.PENALTIES not in self.samplers else self.repeat_last_n

    def seen(self, text: Sequence[int]) -> Sequence[int]:
        """The part of `text` that the penalties look at."""
        if self.window == 0:
            return ()
        return text if self.window < 0 else text[-self.window :]
