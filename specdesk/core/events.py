"""What happens while an answer is decoded, as frozen records. Every display, trace and statistic is made from these."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Source(StrEnum):
    """Who wrote a token of the answer."""

    ACCEPTED = "accepted"
    """The draft proposed it and the target let it stand."""
    REPLACEMENT = "replacement"
    """The target wrote it in place of a rejected draft token."""
    BONUS = "bonus"
    """The target wrote it after a draft that stood whole."""
    PLAIN = "plain"
    """The target wrote it in a pass without a draft."""


class Outcome(StrEnum):
    """What became of a draft token. Every drafted token has exactly one."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    IGNORED = "ignored"
    """It stood behind a rejection or behind the end of the answer, so it does not count either way."""


class StopReason(StrEnum):
    """Why an answer ended."""

    EOG = "eog"
    STOP = "stop"
    LENGTH = "length"
    CONTEXT = "context"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class DraftedToken:
    """A token the draft drew, with the probabilities that decided over it."""

    id: int
    text: str
    """The token alone; bytes that are no character on their own show as U+FFFD."""
    q: float
    p: float | None
    """None where the rule never looked at it."""
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Alternative:
    """A token that might have been written in a place."""

    id: int
    text: str
    """As in DraftedToken."""
    p: float
    """Its probability, as sampled from."""


@dataclass(frozen=True, slots=True)
class AnswerToken:
    """A token that joined the answer."""

    id: int
    text: str
    source: Source
    p: float
    """The target's probability of it, as sampled from."""
    ahead: float | None = None
    """The probability of all tokens likelier than it; None where nobody asked for it. If draws are right, a uniform
    number in [ahead, ahead + p) is uniform in [0, 1): so a trace can be tested against the very distributions that made
    it."""
    favoured: float | None = None
    """The same with tokens ordered by how much the draft favours them, q / p, where a wrong rule shows most; None where
    nothing was drafted."""
    lead: float | None = None
    """How far the target's highest logit was above the second, before any sampler or constraint: how sure it was.
    Infinite with a vocabulary of one; None where nobody looked."""
    alternatives: tuple[Alternative, ...] = ()
    """The likeliest tokens in its place, itself among them if it is one; as many as were asked for."""


@dataclass(frozen=True, slots=True)
class Delta:
    """Text that became final, and who wrote it. All deltas of an answer, joined, are its text."""

    text: str
    source: Source
    token: int = 0
    """Which token of the answer made it, counted from 0; a character in several tokens is the last one's."""


@dataclass(frozen=True, slots=True)
class HistoryCut:
    """Not all that was asked is sent, since it would not fit into the context; comes before all else."""

    n_messages: int
    """The oldest ones behind the system prompt, which are left out."""
    n_characters: int
    """At the beginning of the last message, which are left out."""
    n_tokens: int
    """Of all that is left out, roughly."""
    n_sent: int
    """Tokens of the prompt that is sent."""


@dataclass(frozen=True, slots=True)
class PromptTokens:
    """What is fed before anything is decoded, to target and draft alike; only where it was asked for."""

    ids: tuple[int, ...]
    texts: tuple[str, ...]
    """The vocabulary's own entry for each, special ones by name; what is no UTF-8 alone is escaped (`\\xe6`)."""


@dataclass(frozen=True, slots=True)
class PromptRead:
    """Part of the prompt is in the target's cache; the last of these comes before the first Step."""

    n_read: int
    """Tokens of the prompt in the cache so far, reused ones included. The last one is fed with the first step."""
    n_total: int
    n_reused: int
    """Tokens that were in the cache already, from an earlier answer."""
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class Step:
    """One target pass and what came of it."""

    index: int
    lookahead: int
    """Draft tokens at most, by the plan; fewer may have come of it."""
    reason: str
    """Why that many."""
    drafter: str | None
    """Which drafter proposed; None in a plain step."""
    parity: str
    """What the accept rule guarantees of the tokens, in words."""
    drafted: tuple[DraftedToken, ...]
    tokens: tuple[AnswerToken, ...]
    deltas: tuple[Delta, ...]
    draft_s: float
    """Planning and drafting, with the draft's reading of whatever text it had not read yet."""
    target_s: float
    """The target pass alone."""
    step_s: float
    """The whole step. The time between steps, which the reader of the events takes, is in none."""
    plain_s: float | None = None
    """What a token by plain decoding takes here and now, by the measured costs; None where none were measured."""
    n_draft_passes: int = 0
    """Passes of a draft model: one for each token it offered, with the one that was not worth drawing."""

    @property
    def n_accepted(self) -> int:
        """Draft tokens that joined the answer."""
        return sum(token.outcome is Outcome.ACCEPTED for token in self.drafted)

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted / tested, where tested = accepted + rejected; None if nothing was."""
        tested = sum(token.outcome is not Outcome.IGNORED for token in self.drafted)
        return self.n_accepted / tested if tested else None

    @property
    def plain(self) -> bool:
        """Whether this was plain decoding: one token fed, one token out."""
        return not self.drafted


@dataclass(frozen=True, slots=True)
class Finished:
    """The answer is complete. Nothing follows."""

    reason: StopReason
    deltas: tuple[Delta, ...]
    """Text that was held back in case it grew into a character or a stop string, and did not."""


Event = HistoryCut | PromptTokens | PromptRead | Step | Finished
