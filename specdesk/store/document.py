"""A chat as one JSON document, with everything: what export writes and import reads. docs/chats.md has every key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from specdesk.store.values import Chat, ChatMessage

FORMAT: Final = "specdesk chat"
VERSION: Final = 2
"""Raised when a key is added, or comes to mean something else. What 1 lacks is `left_out`."""


def document_of(
    chat: Chat, messages: Sequence[ChatMessage], traces: Mapping[int, Sequence[dict[str, Any]]]
) -> dict[str, Any]:
    """JSON data. Messages are numbered from 1, so that a document does not depend on which chats there were before."""
    numbers = {message.id: number for number, message in enumerate(messages, start=1)}
    return {
        "format": FORMAT,
        "version": VERSION,
        "title": chat.title,
        "system": chat.system,
        "created": chat.created.isoformat(),
        "updated": chat.updated.isoformat(),
        "leaf": None if chat.leaf is None else numbers[chat.leaf],
        "messages": [
            {
                "id": numbers[message.id],
                "parent": None if message.parent is None else numbers[message.parent],
                "role": message.role.value,
                "state": message.state.value,
                "text": message.text,
                "error": message.error,
                "created": message.created.isoformat(),
                "settings": message.settings,
                "models": message.models,
                "stats": message.stats,
                "left_out": None if message.left_out is None else message.left_out.isoformat(),
                "trace": list(traces.get(message.id, ())),
            }
            for message in messages
        ],
    }
