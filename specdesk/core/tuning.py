"""Which of several ways to run a pair writes most tokens per second, by measured costs and acceptance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from specdesk.core.costs import PairCosts, PassCosts

EQUAL: Final = 0.02
"""Part by which two expected speeds may differ and still count as equal: measurements scatter as much."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A way to run the pair."""

    pace: float
    """Expected tokens per second."""
    n_changes: int
    """How many files and settings are otherwise than given; 0: none."""


def fastest(candidates: Sequence[Candidate]) -> int:
    """The index of the candidate with the highest pace; among those within `EQUAL` of it the one that changes least.

    Raises ValueError if there are none.
    """
    if not candidates:
        raise ValueError("nothing to choose from")
    enough = max(candidate.pace for candidate in candidates) * (1.0 - EQUAL)
    equals = [index for index, candidate in enumerate(candidates) if candidate.pace >= enough]
    return min(equals, key=lambda index: (candidates[index].n_changes, -candidates[index].pace))


def standing(agreements: Sequence[Sequence[float]], most: int) -> list[float]:
    """How likely the first, the first two, ... up to `most` tokens of a draft stand, averaged over its beginnings.

    `agreements` are the probabilities that single tokens stand, along some answers. A draft may begin at each of their
    tokens; one that is longer than what is left of the answer does not count. Ends early where no answer is as long.
    """
    found: list[float] = []
    for length in range(1, most + 1):
        chances = [
            math.prod(answer[start : start + length])
            for answer in agreements
            for start in range(len(answer) - length + 1)
        ]
        if not chances:
            break
        found.append(sum(chances) / len(chances))
    return found


def pace(costs: PairCosts, stand: Sequence[float], depth: int) -> float:
    """Expected tokens per second behind `depth` tokens with the best fixed number of draft tokens, 0 included.

    K of them bring (1 + stand[0] + ... + stand[K - 1]) / (target pass of 1 + K tokens + K draft steps): what
    Leviathan et al. (arXiv:2211.17192, section 3.3) expect, with measured costs.
    """
    best = 1.0 / costs.target.seconds(1, depth)
    if costs.draft is None:
        return best
    step_s = costs.draft.seconds(1, depth)
    tokens = 1.0
    for k, chance in enumerate(stand, start=1):
        tokens += chance
        best = max(best, tokens / (costs.target.seconds(1 + k, depth) + k * step_s))
    return best


def rescaled(known: PassCosts, probes: PassCosts, before: PassCosts) -> PassCosts:
    """What `known` becomes under another setting, of which only some sizes were measured.

    `before` and `probes` are those sizes under the setting of `known` and under the other one. Between them the ratio
    is taken as straight, beyond them as that of the largest.
    """
    ratios = np.divide(probes.base_s, before.base_s)
    return replace(
        known,
        base_s=tuple((np.array(known.base_s) * np.interp(known.sizes, probes.sizes, ratios)).tolist()),
        growth_s=tuple(np.interp(known.sizes, probes.sizes, probes.growth_s).tolist()),
    )


def least(one: PassCosts, other: PassCosts) -> PassCosts:
    """The smaller seconds of two measurements of the same sizes: what disturbs a measurement only adds to it."""
    return PassCosts(
        one.sizes,
        tuple(np.minimum(one.base_s, other.base_s).tolist()),
        tuple(np.minimum(one.growth_s, other.growth_s).tolist()),
    )
