"""Asks a loaded pair, and hands back what a claim needs of the answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from specdesk.core.answer import Answer
from specdesk.core.events import AnswerToken, Event, Step, StopReason
from specdesk.core.interrupted import Interrupted
from specdesk.core.names import RuleName
from specdesk.core.sampling import Sampling
from specdesk.engine.client import AnswerOptions, Engine, Message

OPEN: Final = Sampling(1.5, top_k=20, top_p=1.0, min_p=0.0)
"""What draws are tested with: laws with many likely tokens, where a wrong rule shows."""

_SHORT_CHARS: Final = 200
_DRAWN_AT_ONCE: Final = 64
"""Tokens of an answer whose draws are tested."""
_COMPARED: Final = 3
"""First tokens of an answer that are compared between two ways of decoding."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is tried, and with which random numbers."""

    prompts: Sequence[str]
    n_tokens: int
    """Of each answer that is compared token by token."""
    n_draws: int
    """Tokens whose draws are tested, per rule."""
    n_answers: int
    """Answers whose first tokens are compared between plain and speculative decoding, per rule and side; 0: none, where
    so few could be had that the comparison would see nothing."""
    lookahead: int
    seed: int
    false_alarms: float = 1e-4
    """The odds that a right sampler fails any of the tests of one run."""

    @property
    def short(self) -> Sequence[str]:
        """The prompts that are read quickly; draws can be tested behind any text."""
        return [prompt for prompt in self.prompts if len(prompt) < _SHORT_CHARS]


def turns(prompt: str) -> list[Message]:
    """A conversation that consists of a question."""
    return [Message("user", prompt)]


def options(effort: Effort, sampling: Sampling, rule: RuleName, number: int) -> AnswerOptions:
    """How answer `number` of a claim is asked for."""
    return AnswerOptions(
        sampling, effort.seed, effort.lookahead, effort.n_tokens, verify=rule, answer=number, placed=True
    )


def answer(engine: Engine, prompt: str, how: AnswerOptions) -> Answer:
    """The answer. Raises Interrupted if it is stopped: half of one proves nothing."""
    found = Answer()
    for event in _events(engine, prompt, how):
        found.add(event)
    return found


def drawn(engine: Engine, rule: RuleName, effort: Effort) -> list[AnswerToken]:
    """`n_draws` tokens, from one answer after the other."""
    tokens: list[AnswerToken] = []
    number = 0
    while len(tokens) < effort.n_draws:
        how = replace(options(effort, OPEN, rule, number), max_tokens=_DRAWN_AT_ONCE)
        for event in _events(engine, effort.short[number % len(effort.short)], how):
            if isinstance(event, Step):
                tokens.extend(event.tokens)
        number += 1
    # A number that does not depend on where answers ended: the tests are about samples of a fixed size.
    return tokens[: effort.n_draws]


def beginnings(engine: Engine, rule: RuleName, effort: Effort, lookahead: int) -> list[tuple[int, ...]]:
    """The first tokens of `n_answers` answers to one prompt, independent of each other."""
    prompt = effort.short[-1]
    found = []
    for number in range(effort.n_answers):
        # One more, so that the limit shortens no draft before the tokens that count.
        how = replace(options(effort, OPEN, rule, number), lookahead=lookahead, max_tokens=_COMPARED + 1)
        found.append(tuple(answer(engine, prompt, how).token_ids[:_COMPARED]))
    return found


def _events(engine: Engine, prompt: str, how: AnswerOptions) -> list[Event]:
    events = list(engine.chat(turns(prompt), how))
    if getattr(events[-1], "reason", None) is StopReason.CANCELLED:
        raise Interrupted
    return events
