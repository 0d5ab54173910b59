"""As what the answers of a chat are shown."""

from __future__ import annotations

from typing import Final

from specdesk.tui.setup import Setup
from specdesk.tui.view import View
from specdesk.tui.widgets.transcript import Transcript

_GREETINGS: Final = {
    View.LIVE: "While an answer is written, colours show who wrote each token; struck text was drafted and refused. "
    "Then it is Markdown. Ctrl+T shows its tokens again",
    View.TOKENS: "Colours show who wrote each token; struck text was drafted and refused. Ctrl+T shows answers as "
    "Markdown",
    View.MARKDOWN: "Answers are shown as Markdown. Ctrl+T shows their tokens, coloured by who wrote them",
}


class Showing:
    """Has answers shown as it is set, or as a key says until it is set otherwise."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._passing: View | None = None

    def lay(self, transcript: Transcript) -> None:
        """Where the answers are."""
        self._transcript = transcript

    @property
    def view(self) -> View:
        """As what they are shown now, those that are there and those to come."""
        return self._passing or self._usual

    @property
    def greeting(self) -> str:
        """What is said before anything is asked."""
        return f"Ask something. {_GREETINGS[self.view]}, Ctrl+S the settings, F1 all keys."

    @property
    def shows_rejected(self) -> bool:
        """Whether what the target refused is seen among their tokens."""
        return bool(self._setup.values["show_rejected"])

    def toggle(self, *, ended: bool) -> None:
        """Show them as what they are not shown as now: as it is set, if that does it.

        `ended`: whether the one that is looked at has.
        """
        tokens = not self.view.shows_tokens(ended=ended)
        other = View.TOKENS if tokens else View.MARKDOWN
        self.show_as(self._usual if self._usual.shows_tokens(ended=ended) is tokens else other)

    def show_as(self, view: View) -> None:
        """Show them so for now."""
        self._passing = None if view is self._usual else view
        for answer in self._transcript.answers:
            answer.show_as(view)

    def show_as_set(self) -> None:
        """It was set anew: forget what a key has said."""
        self.show_as(self._usual)

    def show_rejected_as_set(self) -> None:
        """The same for what the target refused."""
        for answer in self._transcript.answers:
            answer.tokens.show_rejected(self.shows_rejected)

    @property
    def _usual(self) -> View:
        view: View = self._setup.values["view"]
        return view
