"""What passes cost on this machine: measured beforehand, and kept true by every real step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

_DRIFT_WEIGHT: Final = 1 / 4
"""Of one pass in the estimate of how fast the machine is now. Other programs come and go within seconds."""
_SIZE_WEIGHT: Final = 1 / 64
"""Of one pass in the correction of its own size. How sizes compare hardly changes, and where one size alone is seen
its share of a change of the machine's speed must stay small."""
_OWN_WEIGHT: Final = 1 / 16
"""Of one step in the estimate of our own work."""
_MOST_SURPRISE: Final = math.log(1.5)
"""A pass that took far longer than expected was held up by something else, and counts as this much longer."""
_MOST_RELIEF: Final = math.log(8)
"""Nothing makes a pass take less than it costs: where one did, costs were measured while the machine was busy."""
_LEAST_S: Final = 1e-9
_MOST_S: Final = 86_400.0
"""No pass was ever measured to take less than the one or more than the other."""


@dataclass(frozen=True)
class PassCosts:
    """Seconds of one model's passes as they were measured: at some sizes, with an almost empty cache and a fuller one.

    The curve over sizes is a staircase and no line: kernels take tokens by the tile.
    """

    sizes: tuple[int, ...]
    """Tokens per pass that were measured, ascending; the first is 1."""
    base_s: tuple[float, ...]
    """Seconds for each of `sizes` behind an empty cache."""
    growth_s: tuple[float, ...]
    """Seconds more for each token in the cache, for each of `sizes`."""

    def __post_init__(self) -> None:
        if self.sizes[:1] != (1,) or any(low >= high for low, high in pairwise(self.sizes)):
            raise ValueError(f"sizes ascend from 1, not {self.sizes}")
        if not len(self.sizes) == len(self.base_s) == len(self.growth_s):
            raise ValueError("a base and a growth for each size")
        if not all(_LEAST_S <= s <= _MOST_S for s in self.base_s):
            raise ValueError(f"seconds are above 0 and less than a day, not {self.base_s}")
        if not all(0 <= s <= _MOST_S for s in self.growth_s):
            raise ValueError(f"growth is 0 or more and less than a day, not {self.growth_s}")

    def seconds(self, n: int, depth: int) -> float:
        """What a pass of n >= 1 tokens takes behind `depth` tokens.

        Between measured sizes in proportion; more than the largest are read as several passes of it.
        """
        most = self.sizes[-1]
        n_full, rest = divmod(n, most)
        total = 0.0
        for _ in range(n_full):
            total += self._bases[most] + self._growths[most] * depth
            depth += most
        if rest:
            total += self._bases[rest] + self._growths[rest] * depth
        return total

    @cached_property
    def _bases(self) -> list[float]:
        return _filled(self.sizes, self.base_s)

    @cached_property
    def _growths(self) -> list[float]:
        return _filled(self.sizes, self.growth_s)


def _filled(sizes: Sequence[int], values: Sequence[float]) -> list[float]:
    """A value for every size from 0, on straight lines between those given."""
    filled = [0.0, values[0]]
    for (low, low_value), (high, high_value) in pairwise(zip(sizes, values, strict=True)):
        filled.extend(
            low_value + (high_value - low_value) * (size - low) / (high - low) for size in range(low + 1, high + 1)
        )
    return filled


@dataclass(frozen=True, slots=True)
class PairCosts:
    """What was measured of a pair."""

    target: PassCosts
    draft: PassCosts | None = None


class Costs:
    """What passes of a pair cost here and now, in seconds.

    The measured costs times how much slower the machine is now, times what experience says of each size of a target
    pass. All sizes share the machine's speed, so that comparing them survives a change of it.
    """

    def __init__(self, measured: PairCosts) -> None:
        self._target = measured.target
        self._draft = measured.draft
        self._drift = 0.0
        self._n_seen = 0
        self._sizes: dict[int, float] = {}
        self._draft_size = 0.0
        self._own_s = 0.0

    def target_s(self, n: int, depth: int) -> float:
        """A target pass of n tokens, each with its row of logits, behind `depth` tokens."""
        return self._target.seconds(n, depth) * math.exp(self._drift + self._sizes.get(n, 0.0))

    def draft_s(self, n: int, depth: int) -> float:
        """A pass of the draft model over n tokens with one row of logits. Raises ValueError if there is none."""
        if self._draft is None:
            raise ValueError("there is no draft model")
        return self._draft.seconds(n, depth) * math.exp(self._drift + self._draft_size)

    def drafting_s(self, n_unread: int, n_passes: int, depth: int) -> float:
        """A draft model's passes in one step behind `depth` tokens: over the last `n_unread` of them, then one each."""
        return self.draft_s(n_unread, depth - n_unread) + (n_passes - 1) * self.draft_s(1, depth)

    def plain_s(self, depth: int) -> float:
        """A token by plain decoding: a target pass over one token, and what sampling and bookkeeping take."""
        return self.target_s(1, depth) + self._own_s

    def saw_target(self, n: int, depth: int, seconds: float) -> None:
        """A target pass of n tokens took this long."""
        surprise = _surprise(seconds, self.target_s(n, depth))
        self._drifts(surprise)
        self._sizes[n] = self._sizes.get(n, 0.0) + _SIZE_WEIGHT * surprise

    def saw_draft(self, expected_s: float, seconds: float) -> None:
        """Drafting that by `drafting_s` was to take `expected_s` took this long."""
        surprise = _surprise(seconds, expected_s)
        self._drifts(surprise)
        self._draft_size += _SIZE_WEIGHT * surprise

    def _drifts(self, surprise: float) -> None:
        self._n_seen += 1
        # The first passes that are faster than measured say so at once: until then a speedup would be overstated.
        weight = max(_DRIFT_WEIGHT, 1 / self._n_seen) if surprise < 0 else _DRIFT_WEIGHT
        self._drift += weight * surprise

    def saw_own(self, n_tokens: int, seconds: float) -> None:
        """A step's own work beside the models' took this long, for `n_tokens` tokens of the answer."""
        self._own_s += _OWN_WEIGHT * (seconds / n_tokens - self._own_s)


def _surprise(seconds: float, expected: float) -> float:
    if seconds <= 0 or expected <= 0:
        return 0.0
    return max(-_MOST_RELIEF, min(_MOST_SURPRISE, math.log(seconds / expected)))
