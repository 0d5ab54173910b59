"""Two answers to one question, one decoded plainly and one with speculation: what came of each, and what parts them.

Both times are measured alike: from the end of the target's prompt pass to the last token.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from itertools import zip_longest
from typing import Final

from specdesk.core.events import AnswerToken, Event, Step, StopReason
from specdesk.core.names import RuleName
from specdesk.core.tally import MIN_TOKENS
from specdesk.engine.client import EngineInfo
from specdesk.errors import SpecdeskError
from specdesk.tui.conversation import Request
from specdesk.tui.figures import UNKNOWN, Figures
from specdesk.tui.token_details import quoted
from specdesk.wording import ENDINGS, NOISE, seldom_paid


class Way(Enum):
    """How an answer is decoded. The value names it."""

    PLAIN = "plain"
    SPECULATIVE = "speculative"

    @property
    def other(self) -> Way:
        """The other one."""
        return Way.SPECULATIVE if self is Way.PLAIN else Way.PLAIN


class Half:
    """One of the two answers as it grows."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.events: list[Event] = []
        self.tokens: list[AnswerToken] = []
        self.figures = Figures()
        self.error: SpecdeskError | None = None
        """What ended it, if it did not end by itself."""

    def add(self, event: Event) -> None:
        """Take its next event."""
        self.events.append(event)
        self.figures.add(event)
        if isinstance(event, Step):
            self.tokens.extend(event.tokens)

    @property
    def whole(self) -> bool:
        """Whether it came to its end."""
        return self.error is None and self.figures.answer.reason not in (None, StopReason.CANCELLED)

    @property
    def measured(self) -> str:
        """Its figures on a line; empty while there are none."""
        figures = self.figures
        tally, reason = figures.tally, figures.answer.reason
        if not tally.generated_tokens:
            return ""
        parts = [
            figures.rate,
            f"{tally.decode_s:.1f} s",
            f"{tally.generated_tokens} tokens",
            f"{figures.per_pass} per pass",
            "" if figures.acceptance == UNKNOWN else f"accepted {figures.acceptance}",
            "" if reason is None else ENDINGS[reason],
        ]
        return " · ".join(part for part in parts if part)


_UNSTEADY: Final = 1.2
"""What passes take, in one run and the other: above this the speedup may be more the machine's than speculation's."""

Halves = Mapping[Way, Half]


def speedup(halves: Halves) -> float | None:
    """How many tokens speculation wrote in the time of a plain one; None while either side is too short to judge."""
    rates = [halves[way].figures.tally.tokens_per_s for way in Way]
    if min(halves[way].figures.tally.generated_tokens for way in Way) < MIN_TOKENS or None in rates:
        return None
    plain, speculative = (rate or 0.0 for rate in rates)
    return speculative / plain


def verdict(halves: Halves) -> str:
    """What the measured speedup means."""
    found = speedup(halves)
    if found is None:
        return f"too little to judge: it takes {MIN_TOKENS} tokens on both sides"
    if not halves[Way.SPECULATIVE].figures.tally.drafted:
        return "both were plain decoding: what differs is the machine, from run to run"
    n_tokens = {halves[way].figures.tally.generated_tokens for way in Way}
    measured = "measured in these two runs" + (", per token" if len(n_tokens) > 1 else "")
    if found < 1 - NOISE:
        return f"slower than plain, {measured}; lookahead 0 is plain"
    return f"{'faster than' if found > 1 + NOISE else 'as fast as'} plain, {measured}"


def unsteady(halves: Halves) -> str:
    """That the machine's own speed changed from one run to the other, by what passes took; empty where it did not."""
    plain, speculative = (halves[way].figures.tally.plain_tokens_per_s for way in Way)
    if speedup(halves) is None or not plain or not speculative:
        return ""
    slowed, slower = max((plain / speculative, "speculative"), (speculative / plain, "plain"))
    if slowed < _UNSTEADY:
        return ""
    return f"a pass took {slowed:.1f} times as long in the {slower} run: is the machine busy? S runs both again"


def drafting(halves: Halves, info: EngineInfo) -> str:
    """Why nothing or hardly anything was drafted; empty where much was."""
    half = halves[Way.SPECULATIVE]
    tally = half.figures.tally
    if not half.tokens:
        return ""
    if tally.drafted:
        return seldom_paid(tally, info.costs) or ""
    # The last one may only tell that the limit is near.
    reason = [event.reason for event in half.events if isinstance(event, Step)][-2:][0]
    return f"drafting did not pay here ({reason})"


def sameness(halves: Halves, info: EngineInfo) -> str:
    """Whether the texts are the same, and if not where they part and why; empty while there is nothing to compare."""
    plain, speculative = halves[Way.PLAIN], halves[Way.SPECULATIVE]
    n = min(len(plain.tokens), len(speculative.tokens))
    if n == 0:
        return ""
    at = parting(halves)
    whole = plain.whole and speculative.whole
    if at is None and whole:
        return f"the same text, token for token ({n} tokens)"
    if at is None or (at == n and not whole):
        return f"the same text, token for token, as far as both came ({n} tokens)"
    one, other = (_token(half, at) for half in (plain, speculative))
    return f"the texts part at token {at + 1}: plain {one}, speculation {other}. {_why(plain, at, info)}"


def parting(halves: Halves) -> int | None:
    """The first token that is not the same, counted from 0; None where both have the same tokens."""
    pairs = zip_longest(*(halves[way].tokens for way in Way))
    return next((at for at, (one, other) in enumerate(pairs) if not _same(one, other)), None)


def _same(one: AnswerToken | None, other: AnswerToken | None) -> bool:
    return one is not None and other is not None and (one.id, one.text) == (other.id, other.text)


def _token(half: Half, at: int) -> str:
    return f"wrote {quoted(half.tokens[at].text)}" if at < len(half.tokens) else "ended"


def _why(plain: Half, at: int, info: EngineInfo) -> str:
    options = plain.request.options
    greedy = options.sampling.applied_temperature == 0
    if not greedy and options.verify is not RuleName.COUPLED:
        return (
            f"That is no error: with speculation the {options.verify} rule uses other random numbers, so the answer is "
            "another one of the same distribution. The verify rule coupled keeps the text."
        )
    if info.exact is not None:
        return "That must not be: exact mode promises the same tokens. Please report it; specdesk prove tries it."
    lead = plain.tokens[at].lead if greedy and at < len(plain.tokens) else None
    apart = "" if lead is None else f"; here the two highest logits were {lead:.2f} apart"
    return (
        f"Where two tokens are nearly as likely, rounding decides, and passes over several tokens round in their own "
        f"way{apart}. Exact mode rules that out, specdesk prove tells ties from faults."
    )
