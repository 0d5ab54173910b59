"""What the store hands out: plain values, that stay as they were when they were asked for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


class Role(StrEnum):
    """Whose message it is."""

    USER = "user"
    ASSISTANT = "assistant"


class State(StrEnum):
    """How far a message came."""

    COMPLETE = "complete"
    WRITING = "writing"
    """The program that decodes it is at work."""
    STOPPED = "stopped"
    """Ended before its end: by the user, or because the program went away."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat without its messages. Times are in UTC."""

    id: int
    title: str
    system: str | None
    """The system prompt."""
    created: datetime
    updated: datetime
    """When a message last joined it, or was finished."""
    deleted: datetime | None
    """None, unless it waits to be purged."""
    leaf: int | None
    """The message that the visible conversation ends with; None while there is none."""
    n_messages: int
    """In all branches."""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message, and where it stands in the tree of its chat."""

    id: int
    chat_id: int
    parent: int | None
    """The message it follows; None at the beginning of a chat."""
    role: Role
    state: State
    text: str
    """As far as it was appended."""
    error: str | None
    """What went wrong, in words, where it failed."""
    created: datetime
    settings: dict[str, Any] | None
    """What an answer was asked with; None in a question. The next two likewise."""
    models: dict[str, Any] | None
    stats: dict[str, Any] | None
    """None too while it is written."""
    left_out: datetime | None
    """When a question was deleted from the conversation, with all that follows it; None if it was not."""
    siblings: tuple[int, ...]
    """This message and those that follow the same one and are not left out, the oldest first."""

    @property
    def sibling_index(self) -> int:
        """Its place among its siblings, from 0."""
        return self.siblings.index(self.id)


@dataclass(frozen=True, slots=True)
class Hit:
    """A place where a text was found."""

    chat: Chat
    message_id: int | None
    """None where the title holds it. The next one likewise."""
    role: Role | None
    created: datetime
    """Of the message, or of the chat."""
    snippet: str
    """One line around the place."""
    start: int
    """The text that was found is snippet[start:end]."""
    end: int
