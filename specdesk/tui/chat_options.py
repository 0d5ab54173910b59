"""What holds for every answer of a chat."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from specdesk.core.names import DEFAULT_RULE, DrafterName, RuleName
from specdesk.core.sampling import Sampling
from specdesk.engine.client import AnswerOptions, Overflow

N_ALTERNATIVES = 5
"""Likeliest tokens that are told of each place in an answer."""


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """How answers are asked for."""

    sampling: Sampling
    lookahead: int | None = None
    """As AnswerOptions has it."""
    seed: int | None = None
    """The seed of every answer; None: a new one for each."""
    system: str | None = None
    """The system prompt of chats that begin from now on."""
    max_tokens: int | None = None
    verify: RuleName = DEFAULT_RULE
    drafter: DrafterName = DrafterName.CASCADE

    def answer_options(self, number: int) -> AnswerOptions:
        """How answer `number` is asked for."""
        return AnswerOptions(
            self.sampling,
            secrets.randbits(32) if self.seed is None else self.seed,
            self.lookahead,
            self.max_tokens,
            verify=self.verify,
            answer=number,
            drafter=self.drafter,
            overflow=Overflow.TURNS,
            n_alternatives=N_ALTERNATIVES,
            repeatable=self.seed is not None,
        )
