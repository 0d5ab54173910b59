"""What sets two answers apart: the measured speedup, and whether they are the same."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Digits, Static

from specdesk.core.events import HistoryCut
from specdesk.engine.client import EngineInfo
from specdesk.tokenview import visible
from specdesk.tui.comparing.comparison import Halves, Way, drafting, sameness, speedup, unsteady, verdict
from specdesk.tui.figures import UNKNOWN
from specdesk.wording import history_cut


class Outcome(Horizontal):
    """The big number beside what it means; while there is none, what is done now."""

    def compose(self) -> ComposeResult:
        """No number yet."""
        yield Digits(UNKNOWN, id="ratio")
        with VerticalScroll():
            yield Static(UNKNOWN, id="short-ratio", markup=False)
            yield Static(id="verdict", markup=False)
            yield Static(id="sameness", markup=False)
            yield Static(id="notes", markup=False)

    def clear(self) -> None:
        """Nothing is known."""
        self._show_ratio(UNKNOWN)
        for name in ("#sameness", "#notes"):
            self.query_one(name, Static).update("")

    def say(self, text: str) -> None:
        """What is done now."""
        self.query_one("#verdict", Static).update(text)

    def measure(self, halves: Halves) -> None:
        """Show the speedup as far as both came."""
        found = speedup(halves)
        self._show_ratio(UNKNOWN if found is None else f"{found:.2f}x")

    def show(self, halves: Halves, info: EngineInfo) -> None:
        """What came of both, as far as they came."""
        self.measure(halves)
        self.say(verdict(halves))
        self.query_one("#sameness", Static).update(visible(sameness(halves, info)))
        cuts = [event for event in halves[Way.PLAIN].events if isinstance(event, HistoryCut)]
        notes = [*(history_cut(cut, info.n_ctx) for cut in cuts), drafting(halves, info), unsteady(halves)]
        self.query_one("#notes", Static).update(visible("\n".join(filter(None, notes))))

    def _show_ratio(self, ratio: str) -> None:
        self.query_one("#ratio", Digits).update(ratio)
        self.query_one("#short-ratio", Static).update(ratio)
