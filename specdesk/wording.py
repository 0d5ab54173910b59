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


def notes(*, has_draft: bool, lookahead: int, widest: int | None) -> list[str]:
    """What will be otherwise than asked: without a draft, and where exact mode limits passes to `widest` tokens."""
    if lookahead == 0:
        return []
    if not has_draft:
        return ["no draft model: decoding plainly, one token per target pass"]
    if widest == 1:
        return ["exact mode: every pass over several tokens rounds in its own way here, so decoding is plain"]
    if widest is not None and lookahead >= widest:
        reason = f"passes of more than {widest} tokens round otherwise than plain decoding here"
        return [f"exact mode: {reason}, so at most {widest - 1} are drafted, not {lookahead}"]
    return []


SLOWER: Final = "slower than plain, here: a smaller -k may help, -k 0 is plain"


def acceptance(tally: Tally) -> str | None:
    """Accepted of tested, and the rate; None while nothing was tested."""
    if tally.acceptance_rate is None:
        return None
    return f"{tally.accepted} of {tally.accepted + tally.rejected} ({tally.acceptance_rate:.0%})"
