"""What the turns of a conversation have in common: they can be chosen, and something can be done with them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import ClassVar, Final

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from specdesk.store.values import ChatMessage
from specdesk.tokenview import visible

CAN_UNDO: Final = "-can-undo"
"""The class of what holds turns while something that was deleted can be brought back."""


class Act(Enum):
    """What can be done with a turn."""

    COPY = auto()
    COPY_CODE = auto()
    SAVE = auto()
    """Write it into a file."""
    EDIT = auto()
    AGAIN = auto()
    GO_ON = auto()
    OLDER = auto()
    """Show the branch before this one. The next one likewise."""
    NEWER = auto()
    DELETE = auto()
    """Take it out of the conversation, with all behind it."""
    UNDO = auto()
    LEAVE = auto()
    """Go back to the prompt."""


class Turn(Vertical, can_focus=True):
    """One message of a chat. It knows which one as soon as the store does."""

    # All of them here, in the order in which they are told: foot and help know no other.
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c,C", "act('COPY')", "Copy", id="turn.copy", tooltip="Copy the message as it was written."),
        Binding("s,S", "act('SAVE')", "Save", id="turn.save", tooltip="Write the message into a file."),
        Binding("k,K", "act('COPY_CODE')", "Copy code", id="turn.copy_code", tooltip="Copy the last block of code."),
        Binding("e,E", "act('EDIT')", "Edit", id="turn.edit", tooltip="Ask something else here; this branch is kept."),
        Binding("r,R", "act('AGAIN')", "Again", id="turn.again", tooltip="Have it answered again; this one is kept."),
        Binding("g,G", "act('GO_ON')", "Go on", id="turn.go_on", tooltip="Have a stopped answer gone on with."),
        Binding("left_square_bracket", "act('OLDER')", "Older", id="turn.older", tooltip="Show the branch before."),
        Binding("right_square_bracket", "act('NEWER')", "Newer", id="turn.newer", tooltip="Show the branch after."),
        Binding("left", "choose(-1)", id="turn.token_left", tooltip="The token before; at first the last.", show=False),
        Binding(
            "right",
            "choose(1)",
            "Token",
            key_display="←→",
            id="turn.token",
            tooltip="The next token, at first the first one: see its probabilities.",
        ),
        Binding(
            "delete",
            "act('DELETE')",
            "Delete",
            id="turn.delete",
            tooltip="Delete question and answer, with what follows; this can be undone.",
        ),
        Binding("u,U", "act('UNDO')", "Undo", id="turn.undo", tooltip="Bring back what was deleted last."),
        Binding("escape,q,Q", "act('LEAVE')", "Back", id="turn.leave", tooltip="Go back to the prompt."),
    ]

    @dataclass
    class Wanted(Message):
        """The user wants something done with a turn."""

        turn: Turn
        act: Act

        @property
        def control(self) -> Turn:
            """The turn."""
            return self.turn

    def __init__(self, author: str, message: ChatMessage | None = None) -> None:
        super().__init__()
        self._author = author
        self.message = message
        self._heading = Static(markup=False, classes="author")

    def on_mount(self) -> None:
        """Say whose it is."""
        self.know(self.message)

    def know(self, message: ChatMessage | None) -> None:
        """Which message of the store this is, and which others stand in its place."""
        self.message = message
        branch = ""
        if message is not None and len(message.siblings) > 1:
            branch = f"  ‹{message.sibling_index + 1}/{len(message.siblings)}›"
        self._heading.update(visible(f"{self._author}{branch}"))
        self.refresh_bindings()

    @property
    def text(self) -> str:
        """What is copied."""
        raise NotImplementedError

    def action_act(self, name: str) -> None:
        """Ask the owner for it."""
        self.post_message(self.Wanted(self, Act[name]))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave out what has no meaning for this turn."""
        if action == "choose":
            return self.has_tokens
        return self.can(Act[str(parameters[0])]) if action == "act" else True

    @property
    def has_tokens(self) -> bool:
        """Whether there are any to choose from."""
        return False

    def action_choose(self, step: int) -> None:
        """Choose another token."""

    def can(self, act: Act) -> bool:
        """Whether that can be done with this turn now."""
        if act in (Act.OLDER, Act.NEWER):
            return self.message is not None and len(self.message.siblings) > 1
        if act is Act.UNDO:
            return any(node.has_class(CAN_UNDO) for node in self.ancestors if isinstance(node, Widget))
        return act in (Act.COPY, Act.SAVE, Act.DELETE, Act.LEAVE)
