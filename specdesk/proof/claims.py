"""The claims, each as a function that tries it on a loaded pair and returns a verdict with its figures.

In exact mode answers are compared token for token, and draws with those of plain decoding. Elsewhere passes of another
width round in their own way, so a difference has to be explained (a tie) and draws are tested against the laws of the
very passes that made them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any, Final

from specdesk.core.events import AnswerToken
from specdesk.core.lm import n_common
from specdesk.core.names import RuleName
from specdesk.core.sampling import Sampling
from specdesk.engine.client import Closeness, Engine
from specdesk.proof.asking import Effort, answer, beginnings, drawn, options, turns
from specdesk.proof.uniformity import Uniformity, alike, placed, ranks, uniform

GREEDY: Final = Sampling(0.0)
SAMPLED: Final = Sampling()
"""The default sampling."""

_SAME: Final = "exact mode writes what plain decoding writes"
_INDEPENDENT: Final = (RuleName.REJECTION, RuleName.BLOCK)
"""The rules whose answers differ from plain ones of the same seed, so that only their distribution can be compared."""
_N_TESTS: Final = 2 * len(RuleName) + len(_INDEPENDENT)
"""Tests of one run, which share the odds of a false alarm."""


class Verdict(StrEnum):
    """What became of a claim."""

    HOLDS = "holds"
    FAULT = "fault"
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim that was tried."""

    name: str
    verdict: Verdict
    summary: str
    figures: dict[str, Any]
    """JSON data."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Where a greedy answer left the plain one."""

    prompt: int
    token: int
    close: Closeness | None
    """None where one of the two ended there."""

    @property
    def is_tie(self) -> bool:
        """Whether rounding explains it."""
        return self.close is not None and self.close.is_tie

    def __str__(self) -> str:
        where = f"prompt {self.prompt + 1} parts at token {self.token + 1}"
        if self.close is None:
            return f"{where}: FAULT, one answer ends there"
        found = "numerical tie" if self.is_tie else "FAULT"
        return f"{where}: {found}, {self.close.gap:.3f} between the two, which rounding moves by {self.close.moved:.3f}"


def same_as_plain(engine: Engine, effort: Effort) -> Claim:
    """Exact mode: greedy, the rules taking turns, and sampled under `coupled`, the ids are those of plain decoding."""
    different: list[dict[str, Any]] = []
    widths: set[int] = set()
    n_tokens = n_passes = 0
    for number, prompt in enumerate(effort.prompts):
        for sampling, rule in ((GREEDY, _in_turn(number)), (SAMPLED, RuleName.COUPLED)):
            how = options(effort, sampling, rule, number)
            plain, drafted = (answer(engine, prompt, replace(how, lookahead=k)) for k in (0, effort.lookahead))
            widths |= drafted.tally.widths
            n_tokens += drafted.tally.generated_tokens
            n_passes += drafted.tally.target_passes
            if plain.token_ids != drafted.token_ids:
                at = n_common(plain.token_ids, drafted.token_ids)
                different.append({"prompt": number, "temperature": sampling.temperature, "token": at})
    n_answers = 2 * len(effort.prompts)
    rate = n_tokens / n_passes
    return Claim(
        _SAME,
        Verdict.FAULT if different else Verdict.HOLDS,
        f"{n_answers - len(different)} of {n_answers} answers have the ids of plain decoding; passes of "
        f"{', '.join(map(str, sorted(widths)))} tokens, {rate:.2f} tokens per pass",
        {"answers": n_answers, "different": different, "widths": sorted(widths), "tokens_per_pass": rate},
    )


def no_exact_mode() -> Claim:
    """What is said where no pass over several tokens rounds as one-token passes do."""
    reason = "every pass over several tokens rounds in its own way on this machine, so exact mode is plain decoding"
    return Claim(_SAME, Verdict.NOT_TRIED, reason, {})


def differs_only_in_ties(engine: Engine, effort: Effort) -> Claim:
    """Default mode, greedy: where an answer leaves the plain one, rounding explains it."""
    found: list[Difference] = []
    n_compared = 0
    for number, prompt in enumerate(effort.prompts):
        how = options(effort, GREEDY, _in_turn(number), number)
        ids, others = (answer(engine, prompt, replace(how, lookahead=k)).token_ids for k in (0, effort.lookahead))
        at = n_common(ids, others)
        n_compared += min(at + 1, len(ids))
        if ids != others:
            close = None
            if at < min(len(ids), len(others)):
                close = engine.closeness(turns(prompt), ids, at, (ids[at], others[at]), 1 + effort.lookahead)
            found.append(Difference(number, at, close))
    per_thousand = 1000 * len(found) / n_compared
    same = f"{len(effort.prompts) - len(found)} of {len(effort.prompts)} answers have the ids of plain decoding"
    return Claim(
        "greedy answers differ from plain ones in numerical ties only",
        Verdict.HOLDS if all(difference.is_tie for difference in found) else Verdict.FAULT,
        "; ".join([same, *map(str, found), f"{per_thousand:.1f} flips per 1,000 tokens"]),
        {
            "tokens": n_compared,
            "differences": [{**asdict(difference), "tie": difference.is_tie} for difference in found],
            "flips_per_1000": per_thousand,
        },
    )


def draws_follow_their_laws(engine: Engine, effort: Effort, mode: str) -> Iterator[Claim]:
    """Sampled, each rule: every draw against the law of the pass that made it.

    Under every rule a token, given the text before it and that this pass writes it, has the law of this pass; so a
    number that is uniform given that law is uniform given all that came before, and the numbers are independent.
    Where there was a draft, tokens are ordered by how much it favours them: a draft that leaks shows most there.
    """
    for rule in RuleName:
        tokens = drawn(engine, rule, effort)
        intervals = [(_place(token), token.p) for token in tokens]
        test = uniform(placed(intervals, effort.seed), effort.false_alarms / _N_TESTS)
        yield _tested(f"{mode}: draws under {rule} follow the target's laws", test)


def draws_are_as_plain(engine: Engine, effort: Effort) -> Iterator[Claim]:
    """Exact mode, sampled: the beginnings of answers to one prompt have the distribution of those of plain decoding."""
    # Another seed: with the same one, answers of the two sides would not be independent.
    plain = beginnings(engine, RuleName.REJECTION, replace(effort, seed=effort.seed + 1), 0)
    for rule in _INDEPENDENT:
        both = ranks(beginnings(engine, rule, effort, effort.lookahead), plain)
        test = alike(*both, effort.false_alarms / _N_TESTS)
        yield _tested(f"exact mode: answers under {rule} begin as plain ones do", test)


def _place(token: AnswerToken) -> float:
    """Where the token's interval begins. Raises ValueError if it was not asked for."""
    begin = token.ahead if token.favoured is None else token.favoured
    if begin is None:
        raise ValueError("the answer was not asked to place its tokens")
    return begin


def _in_turn(number: int) -> RuleName:
    """Each rule for a third of the prompts: greedy, they all have to decide alike."""
    return list(RuleName)[number % len(RuleName)]


def _tested(name: str, test: Uniformity) -> Claim:
    return Claim(
        name,
        Verdict.HOLDS if test.passed else Verdict.FAULT,
        f"{test.n} drawn, distance {test.distance:.3f} of {test.bound:.3f} allowed; a shift of {test.visible:.0%} "
        "would have been seen",
        asdict(test),
    )


def failed(claims: Sequence[Claim]) -> bool:
    """Whether any claim does not hold."""
    return any(claim.verdict is Verdict.FAULT for claim in claims)
