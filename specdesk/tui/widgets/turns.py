"""What stands in the transcript: the user's turns, the model's answers, and what the program has to say."""

from __future__ import annotations

from collections.abc import Iterable

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from specdesk.core.events import Event, Finished, HistoryCut, PromptRead, Step, StopReason
from specdesk.errors import EngineDiedError, SpecdeskError
from specdesk.tokenview import Span, delta_spans, spans, visible
from specdesk.tui.figures import UNKNOWN, Figures
from specdesk.tui.widgets.token_view import TokenView
from specdesk.wording import ENDINGS


class Notice(Static):
    """A line from the program."""

    def __init__(self, text: str) -> None:
        super().__init__(visible(text), markup=False)


class Failure(Static):
    """An error with its hint, and what native code said last where that ended by it."""

    def __init__(self, error: SpecdeskError) -> None:
        log = error.log if isinstance(error, EngineDiedError) else ()
        lines = [
            f"error: {error.message}",
            *([error.hint] if error.hint else []),
            *(f"llama.cpp: {line}" for line in log),
        ]
        super().__init__(visible("\n".join(lines)), markup=False)


class UserTurn(Vertical):
    """What the user asked."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        """Name and text."""
        yield Static("You", classes="author")
        yield Static(visible(self._text).replace("\t", "    "), markup=False, classes="text")


class AnswerTurn(Vertical):
    """One answer of the model: it grows with the events, and ends in a line of figures."""

    def __init__(self, author: str, seed: int, *, speculating: bool, show_rejected: bool) -> None:
        super().__init__()
        self.figures = Figures()
        self.tokens = TokenView(speculating=speculating, show_rejected=show_rejected)
        self._author = Static(visible(author), markup=False, classes="author")
        self._status = Static("reading the prompt …", markup=False, classes="status")
        self._seed = seed

    def compose(self) -> ComposeResult:
        """Name, tokens, and how it stands."""
        yield self._author
        yield self.tokens
        yield self._status

    def add(self, events: Iterable[Event]) -> None:
        """Show what the events add."""
        grown: list[Span] = []
        for event in events:
            self.figures.add(event)
            match event:
                case HistoryCut():
                    pass
                case PromptRead():
                    self._status.update(_reading(event))
                case Step():
                    grown.extend(spans(event, show_rejected=True))
                    self._status.update("")
                case Finished():
                    grown.extend(delta_spans(event.deltas))
                    self._status.update(self._ending(event.reason))
        if grown:
            self.tokens.extend(grown)

    def fail(self, error: SpecdeskError) -> None:
        """End it with an error."""
        self._status.update("")
        self.mount(Failure(error))

    def disown(self) -> None:
        """Say that nothing of this turn is in the conversation."""
        self.mount(Static("this question is not part of the conversation", classes="status"))

    def _ending(self, reason: StopReason) -> str:
        figures = self.figures
        parts = [
            ENDINGS[reason],
            f"{figures.tally.generated_tokens} tokens",
            "" if figures.speedup == UNKNOWN else figures.speedup,
            "" if figures.per_pass == UNKNOWN else f"{figures.per_pass} per pass",
            f"seed {self._seed}",
        ]
        return " · ".join(part for part in parts if part)


def _reading(event: PromptRead) -> str:
    # The last token of the prompt is fed with the first step.
    if event.n_read >= event.n_total - 1:
        return f"read {event.n_total} tokens, {event.n_reused} of them known already; writing the first …"
    return f"reading the prompt: {event.n_read} of {event.n_total} tokens …"
