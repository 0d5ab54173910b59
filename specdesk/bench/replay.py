"""How far the lookahead that ran was from the best one, replayed by measured costs.

A step that drafts K tokens with the draft model costs a target pass over 1 + K tokens and K passes of the draft model.
The first of these also reads what the draft's cache lacks: the whole prompt at first, one token more after a draft that
stood whole, and what plain steps wrote. A step without a draft costs a target pass over one token. All ways of choosing
K are charged alike. The work beside the models' is in none, and no draft reaches beyond the end of the answer.

Each token of the answer would have been accepted from the draft model with a known probability, independently of the
others. That is so where drafts are judged by `rejection`, and greedy under every rule; sampled under `block` a little
more is accepted than is replayed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from specdesk.core.costs import PairCosts
from specdesk.core.lookahead import MOST_ADAPTIVE

FIXED: Final = (0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 15)
"""The fixed lookaheads that are compared; 0 is plain decoding."""

_OUTCOME_SEED: Final = 20_230_211
"""Of the outcomes that the oracle knows."""


@dataclass(frozen=True, slots=True)
class Drafting:
    """What one step drafted."""

    drafter: str | None
    """None where nothing was drafted."""
    n_drafted: int
    n_draft_passes: int
    """Passes of the draft model, also for a token that was not worth drawing."""
    n_accepted: int
    n_written: int
    """Tokens of the answer."""


@dataclass(frozen=True, slots=True)
class Regret:
    """Seconds that one answer takes by measured costs, depending on how much is drafted."""

    ran_s: float
    """As it ran: the costs of its own steps."""
    fixed_s: tuple[tuple[int, float], ...]
    """K, and what is to be expected where K tokens are drafted in each step."""
    oracle_s: float
    """The least possible for one who knows which draft tokens would be accepted: no method can."""

    @property
    def best_fixed(self) -> int:
        """The fixed K that takes least."""
        return min(self.fixed_s, key=lambda fixed: fixed[1])[0]

    @property
    def to_best_fixed(self) -> float:
        """Time as it ran / time with the best fixed K, which is known only afterwards."""
        return self.ran_s / min(seconds for _, seconds in self.fixed_s)

    @property
    def to_oracle(self) -> float:
        """Time as it ran / time of the oracle."""
        return self.ran_s / self.oracle_s

    def record(self) -> dict[str, Any]:
        """JSON data."""
        return {
            **asdict(self),
            "best_fixed": self.best_fixed,
            "to_best_fixed": self.to_best_fixed,
            "to_oracle": self.to_oracle,
        }


def regret(costs: PairCosts, n_prompt: int, stands: Sequence[float], steps: Sequence[Drafting]) -> Regret:
    """What choosing the lookahead as it was chosen cost in one answer, behind a prompt the draft had not read.

    `stands` are the probabilities that the draft model's token is accepted at each place of the answer (n,), n >= 1.
    Drafts from text seen before cost no pass of the draft model, and only `ran_s` has them: it may be the least.
    Raises: ValueError if the costs have no draft model, or the steps did not write n tokens.
    """
    if sum(step.n_written for step in steps) != len(stands):
        raise ValueError(f"{sum(step.n_written for step in steps)} tokens were written, {len(stands)} are known")
    passes = Passes(costs, n_prompt)
    outcomes = [bool(drawn < p) for drawn, p in zip(_drawn(len(stands)), stands, strict=True)]
    return Regret(
        ran_s=ran_s(passes, steps),
        fixed_s=tuple((k, fixed_s(passes, stands, k)) for k in FIXED),
        oracle_s=oracle_s(passes, outcomes),
    )


class Passes:
    """Costs of passes in an answer, at the place `at` where that many of its tokens are written."""

    def __init__(self, costs: PairCosts, n_prompt: int) -> None:
        """Raises ValueError if the costs have no draft model."""
        if costs.draft is None:
            raise ValueError("there is no draft model to replay")
        self._target = costs.target
        self._draft = costs.draft
        self.n_prompt = n_prompt

    def target_s(self, at: int, k: int) -> float:
        """A target pass with k draft tokens."""
        return self._target.seconds(1 + k, self.n_prompt + at)

    def draft_s(self, at: int, k: int) -> float:
        """k further passes of the draft model over one token each."""
        return k * self._draft.seconds(1, self.n_prompt + at)

    def read_s(self, at: int, n_unread: int) -> float:
        """The draft model's first pass of a step, over all it has not read."""
        return self._draft.seconds(n_unread, self.n_prompt + at - n_unread)


def ran_s(passes: Passes, steps: Sequence[Drafting]) -> float:
    """The seconds of the steps of an answer."""
    seconds = 0.0
    at = n_read = 0
    for step in steps:
        seconds += passes.target_s(at, step.n_drafted)
        n_text = passes.n_prompt + at
        if step.n_draft_passes:
            seconds += passes.read_s(at, n_text - n_read) + passes.draft_s(at, step.n_draft_passes - 1)
            n_read = n_text + step.n_draft_passes - 1
        at += step.n_written
        n_read = min(n_read, passes.n_prompt + at - 1)
    return seconds


def fixed_s(passes: Passes, stands: Sequence[float], k: int) -> float:
    """The expected seconds of an answer where every step drafts k tokens, or as many as may still come."""
    n = len(stands)
    # Seconds from each place to the end, if the draft model is one token behind what it reads anyway, and if not.
    left = [[0.0, 0.0] for _ in range(n + 1)]
    for at in range(n - 1, -1, -1):
        drafted = min(k, n - at - 1)
        seconds = passes.target_s(at, drafted)
        if drafted == 0:
            left[at] = [seconds + left[at + 1][0]] * 2
            continue
        seconds += passes.draft_s(at, drafted - 1)
        reached = 1.0
        for j in range(drafted):
            seconds += reached * (1.0 - stands[at + j]) * left[at + j + 1][0]
            reached *= stands[at + j]
        seconds += reached * left[at + drafted + 1][1]
        if at == 0:
            return passes.read_s(0, passes.n_prompt) + seconds
        left[at] = [passes.read_s(at, 1) + seconds, passes.read_s(at, 2) + seconds]
    return left[0][0]


def oracle_s(passes: Passes, outcomes: Sequence[bool]) -> float:
    """The least seconds of an answer, K chosen at each step by one who knows which draft tokens would be accepted."""
    n = len(outcomes)
    # Seconds from a place to the end, by how many tokens the draft model is behind; those of every later place are
    # needed for 0 and 1, those of the next one for all numbers that are possible.
    caught_up = [[0.0, 0.0] for _ in range(n + 1)]
    following = [0.0] * (n + 2)
    unread = 0.0
    run = 0
    for at in range(n - 1, -1, -1):
        run = run + 1 if outcomes[at] else 0
        drafting = min(
            (
                passes.target_s(at, k) + passes.draft_s(at, k - 1) + caught_up[at + min(run, k) + 1][run >= k]
                for k in range(1, min(MOST_ADAPTIVE, n - at - 1) + 1)
            ),
            default=float("inf"),
        )
        plain = passes.target_s(at, 0)
        following = [
            min(plain + following[behind + 1], passes.read_s(at, 1 + behind) + drafting) for behind in range(at + 1)
        ]
        unread = min(plain + unread, passes.read_s(at, passes.n_prompt + at) + drafting)
        caught_up[at] = [following[0], following[min(1, at)]]
    return unread


def _drawn(n: int) -> list[float]:
    return [float(number) for number in np.random.default_rng(_OUTCOME_SEED).random(n)]
