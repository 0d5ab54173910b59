"""The answer under way: from the engine's events to the screen and into the store, a few times a second."""

from __future__ import annotations

from collections.abc import Callable

from textual.timer import Timer

from specdesk.core.events import Event
from specdesk.errors import SpecdeskError, StorageError
from specdesk.tui.conversation import SAVED_EACH_S, Conversation
from specdesk.tui.pace import FIGURES_S, Pace
from specdesk.tui.widgets.answer import AnswerTurn

SetTimer = Callable[[float, Callable[[], None]], Timer]


class Answering:
    """Collects the events of one answer, shows them on its turn, and has them kept."""

    def __init__(
        self,
        conversation: Conversation,
        turn: AnswerTurn,
        set_timer: SetTimer,
        shown: Callable[[], None],
        unkept: Callable[[StorageError], None],
    ) -> None:
        """`shown` is called when the figures are to be shown, `unkept` once, where the store refuses.

        The answer goes on without the store.
        """
        self.turn = turn
        self._conversation = conversation
        self._set_timer = set_timer
        self._shown = shown
        self._unkept = unkept
        self._pending: list[Event] = []
        self._pace = Pace()
        self._repaint: Timer | None = None
        self._figures: Timer | None = None
        self._figures_changed = False
        self._save: Timer | None = None
        self._keeps = True

    def add(self, event: Event) -> None:
        """Take an event; it is shown with the next repaint."""
        self._pending.append(event)
        if self._repaint is None:
            self._repaint = self._set_timer(self._pace.wait_s, self.show)

    def show(self) -> None:
        """Show what was collected."""
        if self._repaint is not None:
            self._repaint.stop()
            self._repaint = None
        events, self._pending = self._pending, []
        if not events:
            return
        self._pace.painted()
        self.turn.add(events)
        self._keep(lambda: self._conversation.add(events))
        if self._save is None and self._conversation.unsaved:
            self._save = self._set_timer(SAVED_EACH_S, self._save_rest)
        self._figures_changed = True
        if self._figures is None:
            self._show_figures()

    def end(self, error: SpecdeskError | None = None) -> None:
        """The answer has ended."""
        self.show()
        self._shown()
        for timer in (self._save, self._figures):
            if timer is not None:
                timer.stop()
        self._keep(lambda: self._conversation.finish(error))
        if error is not None:
            self.turn.fail(error)

    def _show_figures(self) -> None:
        """Show them if they have changed, and then not for a while."""
        self._figures = None
        if self._figures_changed:
            self._figures_changed = False
            self._shown()
            self._figures = self._set_timer(FIGURES_S, self._show_figures)

    def _save_rest(self) -> None:
        """A slow model may let what was shown wait long for the next event."""
        self._save = None
        self._keep(self._conversation.save)

    def _keep(self, what: Callable[[], None]) -> None:
        if not self._keeps:
            return
        try:
            what()
        except StorageError as error:
            self._keeps = False
            self._unkept(error)
