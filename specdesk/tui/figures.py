"""The figures of one answer in words, for the panel and the strip. All of them come from its events."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection

from specdesk.core.answer import Answer
from specdesk.core.events import Event, Step
from specdesk.core.tally import MIN_TOKENS, Tally
from specdesk.wording import NOISE, SLOWER, acceptance

UNKNOWN = "-"
_BARS = "▁▂▃▄▅▆▇█"
_N_RECENT = 32


class Figures:
    """Running figures of an answer, and the latest step's plan."""

    def __init__(self) -> None:
        self.answer = Answer()
        self._last: Step | None = None
        self._drafted: deque[float] = deque(maxlen=_N_RECENT)
        self._rates: deque[float] = deque(maxlen=_N_RECENT)

    def add(self, event: Event) -> None:
        """Take the next event into account."""
        self.answer.add(event)
        if isinstance(event, Step):
            self._last = event
            self._drafted.append(len(event.drafted))
            self._rates.append(len(event.tokens) / event.step_s if event.step_s > 0 else 0.0)

    @property
    def tally(self) -> Tally:
        """The figures as numbers."""
        return self.answer.tally

    @property
    def speedup(self) -> str:
        """The running speedup; a dash while it cannot be known."""
        return UNKNOWN if self.tally.speedup is None else f"{self.tally.speedup:.2f}x"

    @property
    def verdict(self) -> str:
        """What the speedup means, or why there is none."""
        if self.tally.speedup is not None:
            if self.tally.speedup < 1 - NOISE:
                return SLOWER
            return "faster than plain, here" if self.tally.speedup > 1 + NOISE else "as fast as plain, here"
        if not self.tally.generated_tokens:
            return "no figures yet"
        if not self.tally.drafted and self._last is not None and self.tally.target_passes > 1:
            return self._last.reason
        if self.tally.generated_tokens < MIN_TOKENS:
            return "too little to judge yet"
        return "what plain decoding takes here was not measured"

    @property
    def rate(self) -> str:
        """Tokens per second of this answer."""
        return _shown(self.tally.tokens_per_s, "{:.1f} tok/s")

    @property
    def plain_rate(self) -> str:
        """Tokens per second by plain decoding here; empty where nothing was drafted."""
        return "" if not self.tally.drafted else _shown(self.tally.plain_tokens_per_s, "plain {:.1f}")

    @property
    def per_pass(self) -> str:
        """Tokens per target pass, a bare number."""
        return _shown(self.tally.tokens_per_pass, "{:.2f}")

    @property
    def acceptance(self) -> str:
        """Accepted of tested, and the rate."""
        return acceptance(self.tally) or UNKNOWN

    @property
    def acceptance_rate(self) -> str:
        """The rate alone."""
        return _shown(self.tally.acceptance_rate, "{:.0%}")

    @property
    def lookahead(self) -> str:
        """K of the latest step."""
        return UNKNOWN if self._last is None else str(len(self._last.drafted))

    @property
    def drafter(self) -> str:
        """Who drafted in the latest step; empty if nobody."""
        return "" if self._last is None or self._last.drafter is None else f"drafter: {self._last.drafter}"

    @property
    def reason(self) -> str:
        """Why the latest step had that K."""
        return "" if self._last is None else self._last.reason

    @property
    def recent_lookahead(self) -> str:
        """K of the latest passes as bars, a full one being the largest of them."""
        return _bars(self._drafted)

    @property
    def recent_rate(self) -> str:
        """Tokens per second of the latest passes likewise."""
        return _bars(self._rates)

    @property
    def shares(self) -> tuple[float, float, float] | None:
        """Parts of the decoding time spent in draft, target, and the rest."""
        tally = self.tally
        if tally.decode_s <= 0:
            return None
        draft, target = tally.draft_s / tally.decode_s, tally.target_s / tally.decode_s
        return draft, target, max(0.0, 1 - draft - target)


def _bars(values: Collection[float]) -> str:
    if not values:
        return UNKNOWN
    most = max(values) or 1.0
    return "".join(_BARS[round(value / most * (len(_BARS) - 1))] for value in values)


def _shown(value: float | None, form: str) -> str:
    return UNKNOWN if value is None else form.format(value)
