"""Words the shell and the chat share, so that they say the same."""

from __future__ import annotations

from typing import Final

from specdesk.core.acceptance import Record
from specdesk.core.costs import PairCosts
from specdesk.core.events import HistoryCut, StopReason
from specdesk.core.tally import MIN_TOKENS, Tally

ENDINGS: Final = {
    StopReason.EOG: "",
    StopReason.STOP: "ended at a stop string",
    StopReason.LENGTH: "cut at the token limit",
    StopReason.CONTEXT: "cut: the context is full",
    StopReason.CANCELLED: "stopped",
}
"""How an answer ended; nothing to say where the model ended it itself."""


_SELDOM: Final = 0.15
"""Draft tokens per token of an answer below which speculation hardly took part."""
_WIDE: Final = 4
_POOR: Final = 0.7
"""Stood / expected below which a draft's record is named as a reason."""


def notes(lookahead: int, *, wanted: int | None, widest: int | None, limit: str = "") -> list[str]:
    """What to say where less than the `wanted` is drafted; None: as many as pay.

    In exact mode target passes have at most `widest` tokens; elsewhere it is None. `limit` is another reason for it.
    """
    if lookahead == wanted or (wanted is None and lookahead > 0):
        return []
    if limit:
        return [limit if lookahead else f"running without speculation: {limit}"]
    if widest == 1:
        return ["exact mode: every pass over several tokens rounds in its own way here, so decoding is plain"]
    if lookahead == 0:
        return ["no draft model: decoding plainly, one token per target pass"]
    reason = f"passes of up to {widest} tokens are known to round as plain decoding does here"
    return [f"exact mode: {reason}, so at most {lookahead} are drafted, not {wanted}"]


def seldom_paid(tally: Tally, costs: PairCosts | None, record: Record | None = None) -> str | None:
    """Why hardly anything was drafted although there is a draft model, in what was measured; None where much was.

    `record` is how the draft model did until now.
    """
    if costs is None or costs.draft is None or tally.generated_tokens < MIN_TOKENS:
        return None
    if tally.drafted > _SELDOM * tally.generated_tokens:
        return None
    plain_s = costs.target.seconds(1, 0)
    step, wide = costs.draft.seconds(1, 0) / plain_s, costs.target.seconds(_WIDE, 0) / plain_s
    measured = (
        f"a draft step takes {step:.0%} of a plain token's time, a pass over {_WIDE} tokens {wide:.1f} times as much"
    )
    stood = ""
    if acceptance(tally) is not None:
        stood = f", and of those drafted {acceptance(tally)} stood"
    elif record is not None and record.stood < _POOR * record.expected:
        stood = f", and of earlier drafts {record.stood:.0f} tokens stood where {record.expected:.0f} were expected"
    return f"drafting seldom pays here: {measured}{stood}"


def history_cut(cut: HistoryCut, n_ctx: int) -> str:
    """What was left out of a prompt, and why."""
    parts = []
    if cut.n_messages:
        parts.append(f"{cut.n_messages} earlier message{'' if cut.n_messages == 1 else 's'}")
    if cut.n_characters:
        parts.append(f"the first {cut.n_characters:,} characters of the prompt")
    return (
        f"{' and '.join(parts)} not sent (about {cut.n_tokens:,} tokens): the context holds {n_ctx:,}, "
        f"{cut.n_sent:,} are sent"
    )


NOISE: Final = 0.05
"""A speedup this close to 1 is no difference: a machine's speed varies by more within an answer."""

SLOWER: Final = "slower than plain, here; lookahead 0 is plain"


def acceptance(tally: Tally) -> str | None:
    """Accepted of tested, and the rate; None while nothing was tested."""
    if tally.acceptance_rate is None:
        return None
    return f"{tally.accepted} of {tally.accepted + tally.rejected} ({tally.acceptance_rate:.0%})"
