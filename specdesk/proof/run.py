"""All claims, one after the other: first those of exact mode, then those of the default mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from specdesk.engine.client import Engine
from specdesk.proof.claims import (
    Claim,
    Plan,
    differs_only_in_ties,
    draws_follow_their_laws,
    exact_draws_follow_their_laws,
    no_exact_mode,
    same_as_plain,
)
from specdesk.proof.prompts import PROMPTS, QUICK


def plan(*, quick: bool, lookahead: int, seed: int) -> Plan:
    """How much is tried: some 15 minutes for a model of 1.5 billion parameters on two cores, or under two of them."""
    if quick:
        return Plan(QUICK, 24, 64, lookahead, seed)
    return Plan(PROMPTS, 128, 1500, lookahead, seed)


def prove(load: Callable[[bool], Engine], plan: Plan) -> Iterator[Claim]:
    """Try every claim on the pair that `load` opens, with True in exact mode; one is open at a time.

    Raises what loading and decoding raise; Interrupted if an answer is stopped.
    """
    with load(True) as engine:
        if engine.info.widest == 1:
            yield no_exact_mode()
        else:
            yield same_as_plain(engine, plan)
            yield from exact_draws_follow_their_laws(engine, plan)
    with load(False) as engine:
        yield differs_only_in_ties(engine, plan)
        yield from draws_follow_their_laws(engine, plan)
