"""What is compared: a question and where it stands in its chat, or would stand."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

from specdesk.engine.client import EngineInfo
from specdesk.store.chat_store import ChatStore
from specdesk.store.values import ChatMessage, Role
from specdesk.tui.chat_options import ChatOptions
from specdesk.tui.comparing.comparison import Half
from specdesk.tui.conversation import Conversation, Place, Request, heard


@dataclass(frozen=True, slots=True)
class Subject:
    """A question that may be answered beside its chat: nothing of it is kept unless an answer is."""

    request: Request
    conversation: Conversation
    place: Place

    def keep(self, half: Half, info: EngineInfo) -> int:
        """Make an answer one of the chat's; returns the chat. Raises StorageError."""
        self.conversation.keep_aside(self.place, half.request, info, half.events, half.error)
        return self.conversation.chat_id or 0


def subject_of(
    store: ChatStore, chat_id: int | None, text: str, options: ChatOptions, instead: ChatMessage | None = None
) -> Subject | None:
    """`text` behind what was said, or in the place of a question; without a text the last question of the chat.

    None where there is neither. Raises StorageError.
    """
    conversation = Conversation(store, chat_id)
    said = conversation.turns
    asked = [message for message in said if message.role is Role.USER]
    replaced = instead if text.strip() else asked[-1] if asked else None
    if replaced is None and not text.strip():
        return None
    before = heard(said) if replaced is None else list(takewhile(lambda turn: turn.id != replaced.id, said))
    parent = before[-1].id if before else None
    if text.strip():
        place = Place(parent)
    else:
        text, place = asked[-1].text, Place(parent, asked[-1].id)
    return Subject(conversation.aside(before, text, options), conversation, place)
