"""All claims, one after the other: first those of exact mode, then those of the default mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from specdesk.core.names import RuleName
from specdesk.engine.client import Engine
from specdesk.errors import UsageError
from specdesk.proof.asking import Effort, turns
from specdesk.proof.claims import (
    Claim,
    differs_only_in_ties,
    draws_are_as_plain,
    draws_follow_their_laws,
    no_exact_mode,
    same_as_plain,
)
from specdesk.proof.prompts import PROMPTS, QUICK


def effort(*, quick: bool, lookahead: int, seed: int) -> Effort:
    """How much `prove` tries."""
    if quick:
        return Effort(QUICK, 16, 64, 0, lookahead, seed)
    return Effort(PROMPTS, 128, 800, 300, lookahead, seed)


def most_claims(effort: Effort) -> int:
    """How many claims `prove` tries at most."""
    n_rules = len(RuleName)
    return 2 * (1 + n_rules) + (n_rules - 1 if effort.n_answers else 0)


def prove(load: Callable[[bool], Engine], effort: Effort) -> Iterator[Claim]:
    """Try every claim on the pair that `load` opens, with True in exact mode; one is open at a time.

    Raises what loading and decoding raise; Interrupted if an answer is stopped.
    """
    with load(True) as engine:
        _check_room(engine, effort)
        if engine.info.widest == 1:
            yield no_exact_mode()
        else:
            yield same_as_plain(engine, effort)
            yield from draws_follow_their_laws(engine, effort, "exact mode")
            if effort.n_answers:
                yield from draws_are_as_plain(engine, effort)
    with load(False) as engine:
        yield differs_only_in_ties(engine, effort)
        yield from draws_follow_their_laws(engine, effort, "default mode")


def _check_room(engine: Engine, effort: Effort) -> None:
    """Say it at once, not after minutes, if the longest prompt and its answer do not fit."""
    needed = max(len(engine.prompt_ids(turns(prompt))) for prompt in effort.prompts) + effort.n_tokens
    if needed > engine.info.n_ctx:
        raise UsageError(
            f"the longest prompt and its answer have {needed} tokens, the context holds {engine.info.n_ctx}",
            f"--ctx {needed} would do",
        )
