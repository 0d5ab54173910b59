"""Running figures of one answer, made from its events alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from specdesk.core.events import Event, Finished, HistoryCut, Outcome, PromptRead, PromptTokens, Step

MIN_TOKENS = 16
"""Below this many tokens of an answer a speedup says more about chance than about the machine."""


@dataclass(slots=True)
class Tally:
    """Counts and times of one answer so far.

    The speedup compares the time the answer took with what plain decoding would have taken for its tokens, by costs
    that were measured on this machine and follow its speed from pass to pass. A figure that cannot be known is None.
    """

    prompt_tokens: int = 0
    generated_tokens: int = 0
    target_passes: int = 0
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    prompt_s: float = 0.0
    draft_s: float = 0.0
    target_s: float = 0.0
    decode_s: float = 0.0
    """From the end of the target's prompt pass to the last token: drafting and the draft's prompt reading included."""
    widths: set[int] = field(default_factory=set)
    """How many tokens the target passes had."""
    plain_s: float | None = 0.0
    """What plain decoding would have taken for the same tokens; None where costs were not measured."""

    def add(self, event: Event) -> None:
        """Take the next event into account."""
        match event:
            case PromptRead():
                self.prompt_tokens = event.n_total
                self.prompt_s = event.elapsed_s
            case Step():
                self.generated_tokens += len(event.tokens)
                self.target_passes += 1
                self.widths.add(1 + len(event.drafted))
                self.outcomes.update(token.outcome for token in event.drafted)
                self.draft_s += event.draft_s
                self.target_s += event.target_s
                self.decode_s += event.step_s
                if event.plain_s is None or self.plain_s is None:
                    self.plain_s = None
                else:
                    self.plain_s += len(event.tokens) * event.plain_s
            case HistoryCut() | PromptTokens() | Finished():
                pass

    @property
    def drafted(self) -> int:
        """Draft tokens drawn: accepted + rejected + ignored."""
        return self.outcomes.total()

    @property
    def accepted(self) -> int:
        """Draft tokens that joined the answer."""
        return self.outcomes[Outcome.ACCEPTED]

    @property
    def rejected(self) -> int:
        """Draft tokens the target refused."""
        return self.outcomes[Outcome.REJECTED]

    @property
    def ignored(self) -> int:
        """Draft tokens behind a rejection or behind the end of the answer."""
        return self.outcomes[Outcome.IGNORED]

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted / tested, where tested = accepted + rejected."""
        return _ratio(self.accepted, self.accepted + self.rejected)

    @property
    def tokens_per_pass(self) -> float | None:
        """Tokens of the answer per target pass, the plain steps among them."""
        return _ratio(self.generated_tokens, self.target_passes)

    @property
    def tokens_per_s(self) -> float | None:
        """Tokens of the answer per second of decoding."""
        return _ratio(self.generated_tokens, self.decode_s)

    @property
    def plain_tokens_per_s(self) -> float | None:
        """What plain decoding would do here."""
        return None if self.plain_s is None else _ratio(self.generated_tokens, self.plain_s)

    @property
    def speedup(self) -> float | None:
        """Tokens per second against plain decoding; None while there is too little to judge, or nothing but plain."""
        if self.plain_s is None or self.drafted == 0 or self.generated_tokens < MIN_TOKENS:
            return None
        return _ratio(self.plain_s, self.decode_s)

    def speedup_of(self, step: Step) -> float | None:
        """The same for one step; None for a plain one."""
        return None if step.plain or step.plain_s is None else _ratio(len(step.tokens) * step.plain_s, step.step_s)


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole > 0 else None
