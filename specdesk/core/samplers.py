"""The samplers, each a function of the candidates that the ones before it have left.

With a rest, a sampler says what holds whichever tokens of the rest are there: what it keeps in any case are the
candidates, what it may keep besides is the rest. Penalties, typical-p and top-n-sigma cannot say, and take none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from specdesk.core.candidates import Candidates, Rest, highest, usable


def penalties(
    candidates: Candidates, seen: Sequence[int], *, repeat: float, frequency: float, presence: float
) -> Candidates:
    """Logits of `seen` tokens divided by `repeat` if positive, else multiplied.

    After that they lose `frequency` for each time and `presence` once. Raises FloatingPointError if that overflows.
    """
    ids, logits = candidates.ids, candidates.logits.copy()
    tokens, counts = np.unique(np.fromiter(seen, np.int64), return_counts=True)
    at = np.minimum(np.searchsorted(ids, tokens), ids.size - 1)
    there = ids[at] == tokens
    at, counts = at[there], counts[there]
    x, factor = logits[at], np.float32(repeat)
    # A temperature that came before divides the logits, and thereby multiplies what is taken off them.
    off = (counts * frequency + presence) * candidates.temperature
    with np.errstate(over="ignore"):
        logits[at] = np.where(x <= 0, x * factor, x / factor) - off.astype(np.float32)
    return usable(replace(candidates, logits=logits))


def top_n_sigma(candidates: Candidates, n: float) -> Candidates:
    """No logit more than `n` standard deviations of the finite ones below the highest."""
    logits = candidates.logits
    deviation = float(logits[logits > -np.inf].std(dtype=np.float64))
    return candidates.take(np.flatnonzero(logits >= np.float64(candidates.peak - n * deviation)))


def top_k(candidates: Candidates, k: int) -> Candidates:
    """The `k` highest logits; among equals at the cut the lowest ids."""
    rest, missing = candidates.rest, k - candidates.ids.size
    if missing <= 0:
        return candidates.take(np.sort(highest(candidates.logits, k)))
    return candidates if rest is None else replace(candidates, rest=Rest(rest.logits, min(rest.most, missing)))


def typical(candidates: Candidates, p: float) -> Candidates:
    """The tokens whose surprise is nearest the expected one, until their probability passes `p`.

    Source: Meister et al., arXiv:2202.00666, section 3.
    """
    candidates = candidates.take(np.flatnonzero(candidates.logits > -np.inf))
    weights = candidates.weights()
    probs = weights / weights.sum()
    with np.errstate(divide="ignore"):
        surprise = -np.log(probs)
    # What underflowed to probability 0 adds nothing to the expectation.
    expected = float(probs[probs > 0] @ surprise[probs > 0])
    order = np.argsort(np.abs(surprise - expected), kind="stable")
    passed = int(np.searchsorted(np.cumsum(probs[order]), p, side="right"))
    return candidates.take(np.sort(order[: passed + 1]))


def top_p(candidates: Candidates, p: float) -> Candidates:
    """The fewest tokens, heaviest first, whose share of the weight reaches `p`; of equals the lowest ids."""
    rest, mass = candidates.rest, float(candidates.weights().sum())
    doubt = 0.0 if rest is None else rest.weight(candidates.peak, candidates.temperature)
    order, cumulative = _cumulative(candidates, p * (mass + doubt))
    certain = min(int(np.searchsorted(cumulative, p * mass)) + 1, order.size)
    possible = int(np.searchsorted(cumulative, p * (mass + doubt))) + 1
    return candidates.take(np.sort(order[:certain]), _behind(candidates, order, certain, possible))


def _cumulative(candidates: Candidates, enough: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Positions, heaviest first, and what they weigh together with those before them, up to `enough` if it is there."""
    ranked = ((order, np.cumsum(weights)) for order, weights in candidates.descending())
    return next(((order, c) for order, c in ranked if c[-1] >= enough or order.size == candidates.ids.size))


def _behind(candidates: Candidates, order: NDArray[np.int64], certain: int, possible: int) -> Rest | None:
    """What a nucleus of `certain` to `possible` tokens may have besides the certain ones."""
    rest = candidates.rest
    if rest is None or certain == possible:
        return None
    behind = candidates.logits[order[certain:possible]]
    if possible <= order.size:
        return Rest(behind, behind.size)
    return Rest(np.concatenate([behind, rest.logits]), behind.size + rest.most)


def min_p(candidates: Candidates, p: float) -> Candidates:
    """The tokens at least `p` times as probable as the most probable one."""
    cut = candidates.peak + candidates.temperature * math.log(p)
    rest = candidates.rest if candidates.rest is not None and candidates.rest.ceiling >= cut else None
    return candidates.take(np.flatnonzero(candidates.logits >= np.float64(cut)), rest)


def temperature(candidates: Candidates, t: float) -> Candidates:
    """Logits divided by `t`; at 0 the highest one alone, the lowest id among equals."""
    if t == 0:
        return candidates.take(np.array([candidates.logits.argmax()]))
    return replace(candidates, temperature=t)
