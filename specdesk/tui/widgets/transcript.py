"""Everything said so far, from top to bottom."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.widget import Widget

from specdesk.tokenview import visible
from specdesk.tui.widgets.answer import AnswerTurn
from specdesk.tui.widgets.turn import Turn
from specdesk.tui.widgets.turns import Notice

_OF_LOAD = "-of-load"


class Transcript(VerticalScroll, can_focus=False):
    """Follows its end while it grows, unless the user scrolled up."""

    def __init__(self, first_line: str) -> None:
        super().__init__()
        self._first_line = Notice(first_line)
        self._turns = Vertical(self._first_line, id="turns")

    def compose(self) -> ComposeResult:
        """A first line; turns are added below it."""
        yield self._turns

    def on_mount(self) -> None:
        """Follow from the start."""
        self.follow()

    def say_first(self, text: str) -> None:
        """Change the first line."""
        self._first_line.update(visible(text))

    def add(self, *turns: Widget) -> None:
        """Append turns, notices, failures."""
        self._turns.mount(*turns)

    def note(self, *notes: Widget) -> None:
        """Append what is said of the models that are loaded now."""
        for note in notes:
            note.add_class(_OF_LOAD)
        self.add(*notes)

    def forget_notes(self) -> None:
        """Take away what was said of models: others are loaded."""
        self._turns.query(f".{_OF_LOAD}").remove()

    @property
    def turns(self) -> list[Turn]:
        """All turns, the first one first."""
        return list(self._turns.query(Turn))

    @property
    def answers(self) -> list[AnswerTurn]:
        """The answers among them."""
        return list(self._turns.query(AnswerTurn))

    def clear(self) -> None:
        """Take the turns away and leave the notices, which hold for the engine and not for a conversation."""
        for turn in self._turns.children:
            if not isinstance(turn, Notice):
                turn.remove()

    def clear_from(self, turn: Turn) -> None:
        """Take a turn away, and what stands below it."""
        children = list(self._turns.children)
        for child in children[children.index(turn) :]:
            if not isinstance(child, Notice):
                child.remove()

    def follow(self) -> None:
        """Go to the end and stay there."""
        self.anchor()

    def page(self, pages: int) -> None:
        """Scroll by so many heights, down if positive; at the end it follows again."""
        target = self.scroll_y + pages * self.size.height
        if target >= self.max_scroll_y:
            self.follow()
        else:
            self.scroll_to(y=max(0, target), animate=False)
