"""What Ctrl+C means."""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

QUIT_WITHIN_S: Final = 3.0
"""A second press so soon after the first one ends the program."""


class Meaning(Enum):
    """What a press of Ctrl+C is to do."""

    COPY = auto()
    STOP = auto()
    PUT_AWAY = auto()
    """Take the draft out of the prompt; it is kept among the earlier prompts."""
    WARN = auto()
    QUIT = auto()


SAID: Final = {
    Meaning.PUT_AWAY: "put away, Up brings it back · Ctrl+C again, or Ctrl+Q, quits",
    Meaning.WARN: "Ctrl+C again, or Ctrl+Q, quits",
}
"""What to tell the user beside the prompt; the other meanings show what they did."""


class InterruptKey:
    """Reads the presses of Ctrl+C one by one, as shells and editors have taught them.

    A selection is copied, an answer is stopped, a draft is put away; a press that finds none of them warns, and the
    program ends only with the next one, soon enough after a warning.
    """

    def __init__(self, within_s: float = QUIT_WITHIN_S) -> None:
        self._within_s = within_s
        self._warned_at_s: float | None = None

    def press(self, now_s: float, *, selected: bool, answering: bool, written: bool) -> Meaning:
        """The meaning of a press at `now_s`, on any clock that goes forward.

        `selected`: some text on screen is selected. `answering`: an answer is under way. `written`: there is a draft.
        """
        warned_at_s, self._warned_at_s = self._warned_at_s, None
        if selected:
            return Meaning.COPY
        if answering:
            return Meaning.STOP
        if written:
            self._warned_at_s = now_s
            return Meaning.PUT_AWAY
        if warned_at_s is not None and now_s - warned_at_s <= self._within_s:
            return Meaning.QUIT
        self._warned_at_s = now_s
        return Meaning.WARN
