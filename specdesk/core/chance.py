"""Where decisions come from: independent random numbers, or noise that is a function of a seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from specdesk.core.warp import Distribution


class Chance(Protocol):
    """Independent random decisions."""

    def happens(self, probability: float) -> bool:
        """True with this probability; never for 0, always for 1 and above."""

    def draw(self, law: Distribution) -> int:
        """A token drawn from `law`."""


class Dice:
    """Decisions by a random generator."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def happens(self, probability: float) -> bool:
        """True with this probability."""
        return self._rng.random() < probability

    def draw(self, law: Distribution) -> int:
        """A token drawn from `law`."""
        return law.draw(self._rng)


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True, slots=True)
class GumbelNoise:
    """Gumbel noise for each (position of an answer, token): a pure function of seed and answer number.

    Whoever takes the argmax of log-probability plus this noise draws from the distribution, and two distributions that
    are close draw the same token most of the time. A token's noise is the same whatever the other candidates are.

    Source: Gumbel-max trick; hash: SplitMix64 (Steele et al., OOPSLA 2014), chained over the parts of the key.
    """

    seed: int
    answer: int = 0
    """Which answer of a conversation: a regenerated one takes another number, so that no noise is used twice."""

    def choose(self, law: Distribution, position: int) -> int:
        """The token `law` draws at `position` (0-based) of the answer."""
        if law.ids.size == 1:
            return int(law.ids[0])
        with np.errstate(divide="ignore"):  # probability 0 is minus infinity, and so never the largest
            scores = np.log(law.probs) + self.at(position, law.ids)
        return int(law.ids[int(scores.argmax())])

    def at(self, position: int, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """The noise of tokens `ids` (n,) at `position`, shape (n,)."""
        key = np.zeros(1, np.uint64)
        for part in (self.seed, self.answer, position):
            key = _mixed(key ^ np.uint64(part & 0xFFFFFFFFFFFFFFFF))
        bits = _mixed(_mixed(ids.astype(np.uint64) ^ key))
        uniform = ((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
        noise: NDArray[np.float64] = -np.log(-np.log(uniform))
        return noise


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One step of SplitMix64 for each word; arithmetic wraps at 64 bits."""
    z = words + _GOLDEN
    z = (z ^ (z >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    return z ^ (z >> np.uint64(31))
