"""The claims, each as a function that tries it on a loaded pair and returns a verdict with its figures.

In exact mode answers are compared token for token. Elsewhere passes of another width round in their own way, so a
difference has to be explained (a tie) and draws are tested against the laws of the very passes that made them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from specdesk.core.answer import Answer
from specdesk.core.events import AnswerToken, Step, StopReason
from specdesk.core.interrupted import Interrupted
from specdesk.core.names import RuleName
from specdesk.core.sampling import Sampling
from specdesk.engine.client import AnswerOptions, Engine, Message
from specdesk.proof.uniformity import Uniformity, alike, placed, uniform

OPEN: Final = Sampling(1.5, top_k=20, top_p=1.0, min_p=0.0)
"""What draws are tested with: laws with many likely tokens, where a wrong rule shows."""

SAMPLED: Final = Sampling(0.8)
"""The default sampling."""

GREEDY: Final = Sampling(0.0)

_SAME: Final = "exact mode writes what plain decoding writes"

_SHORT_CHARS: Final = 200
_DRAWN_AT_ONCE: Final = 64
"""Tokens of an answer whose draws are tested. They do not depend on what was read before, which takes its time."""

_N_TESTS: Final = 3 * len(RuleName)
"""Tests of draws in one run, which share the odds of a false alarm."""


class Verdict(StrEnum):
    """What became of a claim."""

    HOLDS = "holds"
    FAULT = "fault"
    ABSENT = "not tried"


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim that was tried."""

    name: str
    verdict: Verdict
    summary: str
    figures: dict[str, Any]
    """JSON data."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is tried."""

    prompts: Sequence[str]
    n_tokens: int
    """Of each greedy or seeded answer."""
    n_draws: int
    """Tokens drawn per rule."""
    lookahead: int
    seed: int
    false_alarms: float = 1e-4
    """The odds that a right sampler fails any of the tests of one run."""


def same_as_plain(engine: Engine, plan: Plan) -> Claim:
    """Exact mode: greedy under every rule, and sampled under `coupled`, the ids are those of plain decoding."""
    different: list[dict[str, Any]] = []
    widths: set[int] = set()
    rates: list[float] = []
    for number, prompt in enumerate(plan.prompts):
        for sampling, rule in ((GREEDY, list(RuleName)[number % 3]), (SAMPLED, RuleName.COUPLED)):
            options = _options(plan, sampling, rule, number)
            plain = _answer(engine, prompt, replace(options, lookahead=0))
            drafted = _answer(engine, prompt, options)
            widths |= drafted.tally.widths
            rates.append(drafted.tally.tokens_per_pass or 0.0)
            at = _first_difference(plain.token_ids, drafted.token_ids)
            if at is not None:
                different.append({"prompt": number, "temperature": sampling.temperature, "token": at})
    n_answers = 2 * len(plan.prompts)
    same = f"{n_answers - len(different)} of {n_answers} answers have the ids of plain decoding"
    return Claim(
        _SAME,
        Verdict.FAULT if different else Verdict.HOLDS,
        f"{same}; passes of {_listed(widths)} tokens, {np.mean(rates):.2f} tokens per pass",
        {
            "answers": n_answers,
            "different": different,
            "widths": sorted(widths),
            "tokens_per_pass": float(np.mean(rates)),
        },
    )


def differs_only_in_ties(engine: Engine, plan: Plan) -> Claim:
    """Default mode, greedy: where an answer leaves the plain one, rounding explains it."""
    differences: list[dict[str, Any]] = []
    n_compared = 0
    for number, prompt in enumerate(plan.prompts):
        options = _options(plan, GREEDY, list(RuleName)[number % 3], number)
        plain, drafted = (_answer(engine, prompt, replace(options, lookahead=k)) for k in (0, plan.lookahead))
        ids, others = plain.token_ids, drafted.token_ids
        at = _first_difference(ids, others)
        n_compared += len(ids) if at is None else at + 1
        if at is None:
            continue
        if at < min(len(ids), len(others)):
            close = engine.closeness(_turns(prompt), ids[:at], (ids[at], others[at]), 1 + plan.lookahead)
            found = {"prompt": number, "token": at, **asdict(close), "tie": close.is_tie}
        else:
            found = {"prompt": number, "token": at, "gap": None, "moved": None, "tie": False}
        differences.append(found)
    faults = [found for found in differences if not found["tie"]]
    per_thousand = 1000 * len(differences) / n_compared
    parts = [f"{len(plan.prompts) - len(differences)} of {len(plan.prompts)} answers have the ids of plain decoding"]
    parts += [
        f"prompt {found['prompt'] + 1} parts at token {found['token'] + 1}: "
        + (
            f"{'numerical tie' if found['tie'] else 'FAULT'}, gap {found['gap']:.3f}, rounding moves logits by "
            f"{found['moved']:.3f}"
            if found["gap"] is not None
            else "FAULT, one answer ends there"
        )
        for found in differences
    ]
    return Claim(
        "greedy answers differ from plain ones in numerical ties only",
        Verdict.FAULT if faults else Verdict.HOLDS,
        "; ".join([*parts, f"{per_thousand:.1f} flips per 1,000 tokens"]),
        {"tokens": n_compared, "differences": differences, "flips_per_1000": per_thousand},
    )


def draws_follow_their_laws(engine: Engine, plan: Plan) -> Iterator[Claim]:
    """Default mode, sampled, each rule: every draw against the law of the pass that made it.

    Of `block` only the first token of each pass is taken: the others stand for how the block as a whole came out, and
    follow their laws only together with what later passes draw, which round in their own ways here.
    """
    for rule in RuleName:
        draws = _drawn(engine, rule, plan, plan.lookahead, first_only=rule is RuleName.BLOCK)
        yield _law_claim(f"draws under {rule}", draws, plan)


def exact_draws_follow_their_laws(engine: Engine, plan: Plan) -> Iterator[Claim]:
    """Exact mode, sampled, each rule: every draw against its law, and how likely the drawn tokens are against plain."""
    other = replace(plan, seed=plan.seed + 1)
    plain = _by_likelihood(_drawn(engine, RuleName.REJECTION, other, 0, first_only=False), other.seed)
    for rule in RuleName:
        draws = _drawn(engine, rule, plan, plan.lookahead, first_only=False)
        name = f"exact mode: draws under {rule}"
        yield _law_claim(name, draws, plan)
        test = alike(_by_likelihood(draws, plan.seed), plain, plan.false_alarms / _N_TESTS)
        yield _tested(f"{name} are as likely as those of plain decoding", test)


def no_exact_mode() -> Claim:
    """What is said where no pass over several tokens rounds as one-token passes do."""
    reason = "every pass over several tokens rounds in its own way on this machine, so exact mode is plain decoding"
    return Claim(_SAME, Verdict.ABSENT, reason, {})


def _law_claim(name: str, tokens: Sequence[AnswerToken], plan: Plan) -> Claim:
    """Against the laws, and ordered by what the draft favours where there was one: a draft that leaks shows there."""
    intervals = [(token.ahead if token.favoured is None else token.favoured, token.p) for token in tokens]
    return _tested(
        f"{name} follow the target's laws", uniform(placed(intervals, plan.seed), plan.false_alarms / _N_TESTS)
    )


def _by_likelihood(tokens: Sequence[AnswerToken], seed: int) -> NDArray[np.float64]:
    return placed([(token.ahead, token.p) for token in tokens], seed)


def _tested(name: str, test: Uniformity) -> Claim:
    return Claim(
        name,
        Verdict.HOLDS if test.passed else Verdict.FAULT,
        f"{test.n} draws, distance {test.distance:.3f} of {test.bound:.3f} allowed; a bias of {test.visible:.0%} would "
        "have been seen",
        asdict(test),
    )


def _drawn(engine: Engine, rule: RuleName, plan: Plan, lookahead: int, *, first_only: bool) -> list[AnswerToken]:
    """At least `n_draws` tokens, or first tokens of passes, from answers to the shorter prompts."""
    tokens: list[AnswerToken] = []
    shorter = [prompt for prompt in plan.prompts if len(prompt) < _SHORT_CHARS]
    number = 0
    while len(tokens) < plan.n_draws:
        options = replace(_options(plan, OPEN, rule, number), lookahead=lookahead, max_tokens=_DRAWN_AT_ONCE)
        for step in _steps(engine, shorter[number % len(shorter)], options):
            tokens.extend(step.tokens[:1] if first_only else step.tokens)
        number += 1
    return tokens


def _options(plan: Plan, sampling: Sampling, rule: RuleName, number: int) -> AnswerOptions:
    return AnswerOptions(sampling, plan.seed, plan.lookahead, plan.n_tokens, verify=rule, answer=number)


def _turns(prompt: str) -> list[Message]:
    return [Message("user", prompt)]


def _steps(engine: Engine, prompt: str, options: AnswerOptions) -> list[Step]:
    answer, steps = Answer(), []
    for event in engine.chat(_turns(prompt), options):
        answer.add(event)
        if isinstance(event, Step):
            steps.append(event)
    _check_whole(answer)
    return steps


def _answer(engine: Engine, prompt: str, options: AnswerOptions) -> Answer:
    answer = Answer()
    for event in engine.chat(_turns(prompt), options):
        answer.add(event)
    _check_whole(answer)
    return answer


def _check_whole(answer: Answer) -> None:
    """A stopped run proves nothing."""
    if answer.reason is StopReason.CANCELLED:
        raise Interrupted


def _first_difference(one: Sequence[int], other: Sequence[int]) -> int | None:
    if one == other:
        return None
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _listed(widths: set[int]) -> str:
    return ", ".join(str(width) for width in sorted(widths))
