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

NO_DRAFT: Final = "no draft model: decoding plainly, one token per target pass"

SLOWER: Final = "slower than plain, here: a smaller -k may help, -k 0 is plain"


def acceptance(tally: Tally) -> str | None:
    """Accepted of tested, and the rate; None while nothing was tested."""
    if tally.acceptance_rate is None:
        return None
    return f"{tally.accepted} of {tally.accepted + tally.rejected} ({tally.acceptance_rate:.0%})"
