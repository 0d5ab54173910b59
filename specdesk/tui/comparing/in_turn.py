"""Has one question answered plainly and with speculation, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from specdesk.core.events import Event
from specdesk.errors import SpecdeskError
from specdesk.tui.comparing.comparison import Half, Way
from specdesk.tui.conversation import Request

Ask = Callable[[Request], None]
_NAMES = {Way.PLAIN: "plain", Way.SPECULATIVE: "with speculation"}


class Comparing:
    """Both answers of one question. The prompt is read before either is timed; never are two asked for at once."""

    def __init__(self, request: Request, ask: Ask) -> None:
        plain = replace(request, options=replace(request.options, lookahead=0))
        self.order = (Way.PLAIN, Way.SPECULATIVE)
        self.halves = {Way.PLAIN: Half(plain), Way.SPECULATIVE: Half(request)}
        self.running: Way | None = None
        """Which answer is being written; None before, while the prompt is read, and after."""
        self.ended = True
        self._ask = ask

    def begin(self) -> None:
        """Read the prompt, then have both answers anew."""
        self.halves = {way: Half(half.request) for way, half in self.halves.items()}
        self.running, self.ended = None, False
        plain = self.halves[Way.PLAIN].request
        self._ask(replace(plain, options=replace(plain.options, max_tokens=1)))

    def swap(self) -> None:
        """The same, the other one first."""
        self.order = (self.order[1], self.order[0])
        self.begin()

    def add(self, event: Event) -> Way | None:
        """Take the engine's next event; returns whose it is, None while the prompt is read."""
        if self.running is not None:
            self.halves[self.running].add(event)
        return self.running

    def go_on(self) -> None:
        """What was asked for last has come to its end: ask for the next answer, if there is one."""
        if self.running is self.order[1]:
            self.end()
        else:
            self.running = self.order[0] if self.running is None else self.order[1]
            self._ask(self.halves[self.running].request)

    def end(self, error: SpecdeskError | None = None) -> Way:
        """Nothing more is asked for. Returns whose end it is; `error` is what became of it."""
        ended = self.running or self.order[0]
        self.halves[ended].error = error
        self.running, self.ended = None, True
        return ended

    # --- how it stands, in words

    @property
    def progress(self) -> str:
        """What is done now."""
        if self.running is None:
            return "reading the prompt, for both …"
        if self.running is self.order[0]:
            return f"1 of 2: {_NAMES[self.order[0]]}, then {_NAMES[self.order[1]]}"
        return f"2 of 2: {_NAMES[self.running]}"

    def state_of(self, way: Way) -> str:
        """What became of an answer so far."""
        half = self.halves[way]
        if half.error is not None:
            return "failed"
        if half.figures.answer.reason is not None:
            return "done" if half.whole else "stopped"
        if way is self.running:
            return "is written now"
        return "was not written" if self.ended else "waits"

    def may_keep(self, way: Way) -> bool:
        """Whether there is anything of an answer that a chat could have."""
        return self.ended and bool(self.halves[way].figures.answer.text)
