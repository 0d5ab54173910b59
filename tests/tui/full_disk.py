"""A disk that takes nothing any more."""

from __future__ import annotations

from specdesk.errors import StorageError


def full(*_: object) -> None:
    """In the place of what writes."""
    raise StorageError("chats.db: no space left", "make room")
