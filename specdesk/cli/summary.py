"""The line that ends a run."""

from __future__ import annotations

from specdesk.core.events import StopReason
from specdesk.core.tally import Tally
from specdesk.wording import ENDINGS, NOISE, SLOWER, acceptance


def summary_line(tally: Tally, reason: StopReason) -> str:
    """What the answer took and what speculation brought; what could not be measured is left out or shown as a dash."""
    parts = [f"{tally.generated_tokens} token{'' if tally.generated_tokens == 1 else 's'}"]
    if tally.tokens_per_pass is not None:
        parts.append(f"{tally.tokens_per_pass:.2f} per target pass")
    if tally.drafted:
        parts.append(f"accepted {acceptance(tally) or '-'}, {tally.ignored} of {tally.drafted} drafted ignored")
    if tally.tokens_per_s is not None:
        parts.append(f"{tally.tokens_per_s:.1f} tokens/s")
    parts.append(_speedup(tally))
    return " | ".join(part for part in (*parts, ENDINGS[reason]) if part)


def _speedup(tally: Tally) -> str:
    if tally.drafted == 0:
        return "plain decoding" if tally.generated_tokens else ""
    if tally.speedup is None:
        return "speedup - (too short to judge)"
    line = f"speedup {tally.speedup:.2f}x against plain decoding ({tally.plain_tokens_per_s:.1f} tokens/s)"
    return line if tally.speedup >= 1 - NOISE else f"{line}: {SLOWER}"
