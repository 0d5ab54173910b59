"""One answer as it grows."""

from __future__ import annotations

from dataclasses import dataclass, field

from specdesk.core.events import Event, Finished, HistoryCut, PromptRead, PromptTokens, Step, StopReason
from specdesk.core.tally import Tally


@dataclass(slots=True)
class Answer:
    """Text, tokens and figures of one answer, folded from its events."""

    token_ids: list[int] = field(default_factory=list)
    """What was drawn, an end token included."""
    reason: StopReason | None = None
    """None while it is not finished."""
    tally: Tally = field(default_factory=Tally)
    cut: HistoryCut | None = None
    """What was left out of the prompt; None if nothing was."""
    _pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text that is final so far."""
        return "".join(self._pieces)

    def add(self, event: Event) -> None:
        """Take the next event into account."""
        self.tally.add(event)
        match event:
            case HistoryCut():
                self.cut = event
            case PromptTokens() | PromptRead():
                pass
            case Step():
                self.token_ids.extend(token.id for token in event.tokens)
                self._pieces.extend(delta.text for delta in event.deltas)
            case Finished():
                self._pieces.extend(delta.text for delta in event.deltas)
                self.reason = event.reason
