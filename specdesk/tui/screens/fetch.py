"""Asks whether a pair is to be fetched, and shows how that goes. The first screen of a new user."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from enum import Enum, auto
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import ProgressBar, Static

from specdesk.errors import SpecdeskError, StorageError
from specdesk.hub.download.report import Reporter
from specdesk.hub.download.tally import FetchProgress, FetchTally
from specdesk.hub.download.tally_words import going
from specdesk.hub.stopping import Stop
from specdesk.tokenview import visible
from specdesk.tui.error_text import error_text
from specdesk.tui.keys import HELP
from specdesk.tui.messages import FetchCrashed, FetchEnded
from specdesk.tui.models.fetch_thread import FetchThread
from specdesk.tui.models.fetch_words import OFFLINE, kept, needs, offered
from specdesk.tui.models.offer import Offer
from specdesk.tui.screens.ending import end
from specdesk.tui.widgets.fetch_row import FetchRow
from specdesk.tui.widgets.key_line import KeyLine

REPAINT_S = 1 / 10
"""How often progress is shown."""

WELCOME = (
    "A chat with a language model on your own machine: a small model drafts, the big one checks every token, and the "
    "text stays exactly the big one's."
)


class FetchOutcome(Enum):
    """How it ended."""

    FETCHED = auto()
    """Everything is here."""
    LEFT = auto()
    """The user does not want it now."""
    OTHER = auto()
    """The user wants to choose another pair."""


class Phase(Enum):
    """What is going on, and which keys do something, in words for the user."""

    OFFERED = "Enter downloads · O other models · Esc not now · F1 help · Ctrl+Q quits"
    OFFLINE = "O other models · Esc not now · F1 help · Ctrl+Q quits"
    FETCHING = "Esc stops, and keeps what has come · F1 help"
    STOPPING = "stopping … · F1 help"
    STOPPED = "Enter goes on · O other models · Esc not now · F1 help · Ctrl+Q quits"
    FAILED = "Enter tries again · O other models · Esc not now · F1 help · Ctrl+Q quits"


_UNDER_WAY: Final = (Phase.FETCHING, Phase.STOPPING)


class FetchScreen(ModalScreen[FetchOutcome]):
    """Offers a pair, and fetches it when the user agrees."""

    CSS_PATH = "fetch.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (80, "-wide")]  # noqa: RUF012 — Textual declares it so
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "fetch", "Download", id="fetch.go", tooltip="Download the pair, or go on with it."),
        Binding("escape", "stop", "Stop", id="fetch.stop", tooltip="Stop the download, or leave it."),
        HELP,
        Binding("o,O", "other", "Other models", id="fetch.other", tooltip="Choose other models."),
        Binding("ctrl+c", "app.quit", id="fetch.quit", tooltip="Leave specdesk.", show=False, priority=True),
    ]

    def __init__(
        self,
        offer: Offer,
        make_offer: Callable[[], Offer],
        fetch: Callable[[Reporter, Stop], object],
        *,
        welcome: bool = False,
    ) -> None:
        """What fetching means, which `make_offer` tells anew whenever that may have changed, and what does it.

        With `welcome` it says what this program is.
        """
        super().__init__()
        self._make_offer = make_offer
        self._fetch = fetch
        self._welcome = welcome
        self._offer = offer
        self._phase = Phase.OFFERED
        self._thread: FetchThread | None = None
        self._tally: FetchTally | None = None

    def compose(self) -> ComposeResult:
        """What it is, what it takes, each file, how far all of it is, and the keys."""
        offer = self._offer
        with VerticalScroll():
            yield Static("specdesk" if self._welcome else "Download", id="title", markup=False)
            if self._welcome:
                yield Static(WELCOME, id="welcome", markup=False)
            yield Static(visible(offered(offer)), id="what", markup=False)
            yield Static(id="error", markup=False)
            yield Static(id="needs", markup=False)
            with Vertical(id="files"):
                for file in offer.files:
                    yield FetchRow(file)
            yield ProgressBar(show_eta=False, id="total")
            yield Static(id="progress", markup=False)
            yield Static(id="notices", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        """Ask first."""
        self.set_class(self._welcome, "-welcome")
        self.set_interval(REPAINT_S, self._repaint)
        self._enter(Phase.OFFLINE if self._offer.offline else Phase.OFFERED)

    async def on_unmount(self) -> None:
        """Leave nothing running."""
        if self._thread is not None:
            await asyncio.to_thread(self._thread.close)

    # --- what the user asks

    def action_fetch(self) -> None:
        """Begin, or go on."""
        if self._phase in _UNDER_WAY or self._phase is Phase.OFFLINE:
            return
        self._tally = FetchTally()
        self._thread = FetchThread(self._fetch, self._tally, self.post_message)
        self._enter(Phase.FETCHING)
        self._thread.start()

    def action_stop(self) -> None:
        """Stop what is under way; without that, leave."""
        if self._phase is Phase.FETCHING and self._thread is not None:
            self._enter(Phase.STOPPING)
            self._thread.stop()
        elif self._phase is not Phase.STOPPING:
            end(self, FetchOutcome.LEFT)

    def action_other(self) -> None:
        """Have other models chosen."""
        if self._phase not in _UNDER_WAY:
            end(self, FetchOutcome.OTHER)

    # --- how it goes

    def on_fetch_ended(self, message: FetchEnded) -> None:
        """Done, or why not."""
        message.stop()
        self._repaint()
        if message.error is not None:
            self._enter(Phase.FAILED, message.error)
        elif message.stopped:
            self._enter(Phase.STOPPED)
        else:
            end(self, FetchOutcome.FETCHED)

    def on_fetch_crashed(self, message: FetchCrashed) -> None:
        """A bug: it ends the app with its traceback."""
        raise message.error

    def _repaint(self) -> None:
        if self._tally is None or self._phase not in _UNDER_WAY:
            return
        self._show(self._tally.now)

    def _show(self, progress: FetchProgress) -> None:
        arrived = 0
        for row, file in zip(self.query(FetchRow), self._offer.files, strict=True):
            here = progress.files.get(file.name, file.progress)
            arrived += 0 if file.complete else here.arrived_bytes
            row.show(here, under_way=file.name == progress.file)
        size = sum(file.size_bytes for file in self._offer.files if not file.complete)
        bar = self.query_one("#total", ProgressBar)
        bar.update(total=size, progress=arrived)
        self.query_one("#progress", Static).update(going(progress, arrived, size))
        self.query_one("#notices", Static).update(visible("\n".join(progress.notices)))

    def _look(self) -> None:
        with suppress(StorageError):  # the fetch will meet it too, and say it
            self._offer = self._make_offer()

    def _enter(self, phase: Phase, error: SpecdeskError | None = None) -> None:
        self._phase = phase
        self._look()
        self.query_one("#needs", Static).update(visible(needs(self._offer)))
        offered = phase in (Phase.OFFERED, Phase.OFFLINE)
        self.query_one("#total").display = not offered
        self.set_class(offered, "-offered")
        # They tell of what is going on: that another source is tried is no longer true of a download that has ended.
        self.query_one("#notices").display = phase in _UNDER_WAY
        if phase in (Phase.STOPPED, Phase.FAILED):
            self.query_one("#progress", Static).update(kept(self._offer))
        said = OFFLINE if phase is Phase.OFFLINE else "" if error is None else error_text(error)
        shown = self.query_one("#error", Static)
        shown.display = bool(said)
        shown.update(visible(said))
        self.query_one(KeyLine).show(phase.value)
