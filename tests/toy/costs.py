"""Costs that are easy to reason about, in which a plain token takes one second."""

from __future__ import annotations

from collections.abc import Sequence

from specdesk.core.costs import Costs, PairCosts, PassCosts

SIZES = (1, 2, 3, 4, 8, 16, 32)


def costs(per_token: float, draft_s: float | None = None, *, read_s: float = 0.0) -> Costs:
    """A target whose passes take 1 second and `per_token` more for each further token.

    A draft model's step takes `draft_s`, and `read_s` more for each token it has to catch up with.
    """
    target = flat([1.0 + per_token * (n - 1) for n in SIZES])
    return Costs(PairCosts(target, None if draft_s is None else flat([draft_s + read_s * (n - 1) for n in SIZES])))


def flat(base_s: Sequence[float], sizes: Sequence[int] = SIZES) -> PassCosts:
    """No growth with the context."""
    return PassCosts(tuple(sizes), tuple(base_s), (0.0,) * len(sizes))
