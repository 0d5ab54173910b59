"""What was measured of one answer, as raw figures: everything that is reported is made from these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from specdesk.bench.replay import Drafting, Regret
from specdesk.core.events import Outcome, Step


class Mode(StrEnum):
    """How an answer was decoded."""

    PLAIN = "plain"
    SPECULATIVE = "speculative"


@dataclass(frozen=True, slots=True)
class Row:
    """One answer."""

    task: str
    prompt: str
    """The prompt's id."""
    turn: int
    """Which answer of its conversation, from 0."""
    round: int
    """Which repetition, from 0."""
    mode: Mode
    seed: int
    prompt_tokens: int
    generated_tokens: int
    decode_s: float
    """From the end of the target's prompt pass to the last token, with all that the draft model read."""
    draft_s: float
    """Of this, planning and drafting."""
    target_s: float
    """Of this, the target's passes."""
    drafted: int
    """accepted + rejected + ignored."""
    accepted: int
    rejected: int
    ignored: int
    by_position: tuple[tuple[int, int], ...]
    """Of the 1st, 2nd, ... tokens of all drafts: how many were tested, and how many of these were accepted."""
    steps: tuple[Drafting, ...]
    """One for each target pass."""
    token_ids: tuple[int, ...]
    stop_reason: str
    regret: Regret | None = None

    @property
    def s_per_token(self) -> float:
        """Seconds of decoding per token of the answer."""
        return self.decode_s / self.generated_tokens

    @property
    def tokens_per_pass(self) -> float:
        """Tokens of the answer per target pass."""
        return self.generated_tokens / len(self.steps)

    @property
    def shares(self) -> tuple[float, float, float]:
        """Parts of the time: drafting, target passes and the rest. They add up to 1."""
        draft, target = self.draft_s / self.decode_s, self.target_s / self.decode_s
        return draft, target, 1.0 - draft - target

    def record(self) -> dict[str, Any]:
        """JSON data."""
        draft, target, rest = self.shares
        return {
            **asdict(self),
            "target_passes": len(self.steps),
            "tokens_per_pass": self.tokens_per_pass,
            "lookahead_k": [step.n_drafted for step in self.steps],
            "shares": {"draft": draft, "target": target, "rest": rest},
            "regret": None if self.regret is None else self.regret.record(),
        }


def drafting_of(step: Step) -> Drafting:
    """What a step drafted."""
    return Drafting(step.drafter, len(step.drafted), step.n_draft_passes, step.n_accepted, len(step.tokens))


def by_position(steps: Sequence[Step]) -> tuple[tuple[int, int], ...]:
    """How many tokens were tested at each position of a draft, and accepted, up to the last that was tested."""
    counts: list[list[int]] = []
    for step in steps:
        tested = [token.outcome for token in step.drafted if token.outcome is not Outcome.IGNORED]
        counts.extend([0, 0] for _ in range(len(tested) - len(counts)))
        for count, outcome in zip(counts, tested, strict=False):
            count[0] += 1
            count[1] += outcome is Outcome.ACCEPTED
    return tuple((tested, accepted) for tested, accepted in counts)
