"""How one answer is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from specdesk.core.lookahead import most_drafted
from specdesk.core.names import DEFAULT_RULE, DrafterName, RuleName
from specdesk.core.sampling import Sampling

UNMEASURED = 4
"""Tokens drafted per pass where as many as pay are wanted and what passes cost is not known."""


class Overflow(StrEnum):
    """What to do with a prompt that the context cannot hold."""

    REFUSE = "refuse"
    TURNS = "turns"
    """Leave out the oldest turns; the system prompt stays."""
    TEXT = "text"
    """The same, and then the beginning of the last message."""


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """How one answer is to be decoded."""

    sampling: Sampling
    seed: int
    lookahead: int | None = None
    """K; 0 is plain decoding, None as many as pay. Less is drafted where `EngineInfo.lookahead` says so."""
    max_tokens: int | None = None
    stop_strings: tuple[str, ...] = ()
    verify: RuleName = DEFAULT_RULE
    answer: int = 0
    """Which answer of its conversation this is: another number, other random numbers from the same seed."""
    n_written: int = 0
    """Tokens at the end of the prompt that are this answer's own beginning, where one is continued."""
    grammar: str | None = None
    """What the answer has to keep to, in llama.cpp's notation (GBNF)."""
    drafter: DrafterName = DrafterName.CASCADE
    n_alternatives: int = 0
    """How many of the likeliest tokens in its place each token of the answer is to tell."""
    placed: bool = False
    """Whether each token is to tell where it lies in its law: `AnswerToken.ahead` and `favoured`."""
    tells_prompt: bool = False
    """Whether the tokens of the prompt are told before it is read."""
    overflow: Overflow = Overflow.REFUSE
    repeatable: bool = False
    """Whether what the clock and earlier answers taught is left aside: then drafts depend on the costs as they were
    measured and on the conversation alone, and the same seed gives the same steps."""

    def most_drafted(self, *, has_draft: bool, measured: bool, widest: int | None) -> int:
        """How many tokens are drafted per pass at most: none without anything to draft with.

        `has_draft` is whether there is a draft model, `measured` whether it is known what passes cost, `widest` the
        most tokens of a target pass; None: no limit.
        """
        can_draft = has_draft or self.drafter is not DrafterName.MODEL or self.grammar is not None
        wanted = UNMEASURED if self.lookahead is None and not measured else self.lookahead
        return most_drafted(wanted, can_draft=can_draft, widest=widest)
