"""Words the shell and the chat share, so that they say the same."""

from __future__ import annotations

from typing import Final

from specdesk.core.events import StopReason
from specdesk.core.tally import Tally

ENDINGS: Final = {
    StopReason.EOG: "",
    StopReason.STOP: "ended at a stop string",
    StopReason.LENGTH: "cut at the token limit",
    StopReason.CONTEXT: "cut: the context is full",
    StopReason.CANCELLED: "stopped",
}
"""How an answer ended; nothing to say where the model ended it itself."""


def notes(lookahead: int, *, wanted: int | None, widest: int | None) -> list[str]:
    """What to say where less than the `wanted` is drafted; None: as many as pay.

    In exact mode target passes have at most `widest` tokens; elsewhere it is None.
    """
    if lookahead == wanted or (wanted is None and lookahead > 0):
        return []
    if widest == 1:
        return ["exact mode: every pass over several tokens rounds in its own way here, so decoding is plain"]
    if lookahead == 0:
        return ["no draft model: decoding plainly, one token per target pass"]
    reason = f"passes of up to {widest} tokens are known to round as plain decoding does here"
    return [f"exact mode: {reason}, so at most {lookahead} are drafted, not {wanted}"]


SLOWER: Final = "slower than plain, here: a smaller -k may help, -k 0 is plain"


def acceptance(tally: Tally) -> str | None:
    """Accepted of tested, and the rate; None while nothing was tested."""
    if tally.acceptance_rate is None:
        return None
    return f"{tally.accepted} of {tally.accepted + tally.rejected} ({tally.acceptance_rate:.0%})"
