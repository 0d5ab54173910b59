"""What is written in the prompt: a new question, or an earlier one anew, and what becomes of it now."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from specdesk.tui.chat.interrupt import QUIT_WITHIN_S, SAID, InterruptKey, Meaning
from specdesk.tui.chat.state import LATER, REASONS, State
from specdesk.tui.widgets.prompt import Prompt
from specdesk.tui.widgets.turn import Turn

_EDITING: Final = "editing an earlier question · Enter asks it instead · Esc leaves it"


class Composer:
    """Keeps the prompt's hint in step with what the chat waits for and with what is edited."""

    def __init__(self, changed: Callable[[], None]) -> None:
        """`changed` is called when other things can be done than before."""
        self._changed = changed
        self._state = State.LOADING
        self._editing: Turn | None = None
        self._interrupt = InterruptKey()

    def lay(self, prompt: Prompt) -> None:
        """Where it is written."""
        self._prompt = prompt
        self.enter(self._state)

    @property
    def state(self) -> State:
        """What the chat waits for."""
        return self._state

    @property
    def editing(self) -> Turn | None:
        """The question in whose place this one is to be asked; None for one behind all others."""
        return self._editing

    @property
    def ready(self) -> bool:
        """Whether a question would be sent now."""
        return self._state is State.READY

    def enter(self, state: State) -> None:
        """The chat waits for something else."""
        self._state = state
        edits = state is State.READY and self._editing is not None
        self._expect(_EDITING if edits else state.value)
        self._changed()

    def progress(self, text: str) -> None:
        """Say what is waited for while the models load."""
        if self._state is State.LOADING:
            self._expect(f"{text} …")

    def _expect(self, hint: str) -> None:
        reason = REASONS.get(self._state)
        refusal = None if reason is None else f"not sent: {reason}"
        self._prompt.expect(hint, refusal, later=LATER if self._state is State.LOADING else None)

    def edit(self, turn: Turn) -> None:
        """Write an earlier question anew; what is written already is kept among the earlier prompts."""
        self._editing = turn
        self._prompt.put_away()
        self._prompt.load_text(turn.text)
        self._prompt.move_cursor(self._prompt.document.end)
        self.enter(self._state)
        self._prompt.focus()

    def leave_edit(self) -> None:
        """What stands in the prompt is a question like any other, and waits for Enter, wherever that was pressed."""
        self._prompt.withdraw()
        if self._editing is not None:
            self._editing = None
            self.enter(self._state)

    def give_back(self, question: str) -> None:
        """To be sent again, perhaps changed; not over what was written since."""
        if not self._prompt.text:
            self._prompt.insert(question)

    def interrupt(self, selected: str | None) -> Meaning:
        """Read a press of Ctrl+C while `selected` is; what it means for the prompt is done."""
        meaning = self._interrupt.press(
            time.monotonic(),
            selected=bool(selected),
            answering=self._state is State.ANSWERING,
            written=bool(self._prompt.text),
        )
        if meaning is Meaning.PUT_AWAY:
            self._prompt.put_away()
        if meaning in SAID:
            self._prompt.say(SAID[meaning], for_s=QUIT_WITHIN_S)
        return meaning
