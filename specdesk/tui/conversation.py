"""The turns of one conversation, and what is asked of the engine for the next answer."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from specdesk.core.names import DEFAULT_RULE, DrafterName, RuleName
from specdesk.core.sampling import Sampling
from specdesk.engine.client import AnswerOptions, Message, Overflow


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """What holds for every answer of a chat."""

    sampling: Sampling
    lookahead: int | None = None
    """As AnswerOptions has it."""
    seed: int | None = None
    """The seed of every answer; None: a new one for each."""
    system: str | None = None
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
            repeatable=self.seed is not None,
        )


@dataclass(frozen=True, slots=True)
class Question:
    """One request to the engine: the whole conversation so far, the user's turn last."""

    messages: tuple[Message, ...]
    options: AnswerOptions


class Conversation:
    """Alternating turns of user and model behind the system prompt, if there is one."""

    def __init__(self, options: ChatOptions) -> None:
        self._options = options
        self._turns: list[Message] = []
        self._n_asked = 0

    def ask(self, text: str) -> Question:
        """Add the user's turn; returns what to send."""
        self._turns.append(Message("user", text))
        options = self._options
        system = () if options.system is None else (Message("system", options.system),)
        number, self._n_asked = self._n_asked, self._n_asked + 1
        return Question((*system, *self._turns), options.answer_options(number))

    def answered(self, text: str) -> None:
        """Add the model's turn, whole or as far as it came."""
        self._turns.append(Message("assistant", text))

    def withdraw(self) -> str:
        """Take back the question that got no answer, so that turns keep alternating; returns its text."""
        return self._turns.pop().content

    def clear(self) -> None:
        """Begin a new conversation with the same options."""
        self._turns.clear()
        self._n_asked = 0
