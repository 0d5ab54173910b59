"""The branches of a chat, as numbers of messages that know whom they follow."""

from __future__ import annotations

from collections.abc import Container, Iterable


class Tree:
    """All messages of one chat. Messages that follow the same one, or none, are siblings."""

    def __init__(self, messages: Iterable[tuple[int, int | None]]) -> None:
        """Each message with the one it follows, the oldest first. Raises ValueError if that does not come before it."""
        self._parents: dict[int, int | None] = {}
        self._children: dict[int | None, list[int]] = {}
        for message, parent in messages:
            if parent is not None and parent not in self._parents:
                raise ValueError(f"message {message} follows {parent}, which is not before it")
            self._parents[message] = parent
            self._children.setdefault(parent, []).append(message)

    def siblings(self, message: int, without: Container[int] = ()) -> tuple[int, ...]:
        """The message and those beside it, but for some, the oldest first."""
        beside = self._children[self._parents[message]]
        return tuple(other for other in beside if other == message or other not in without)

    def path_to(self, message: int | None) -> tuple[int, ...]:
        """From the first message to this one. Raises ValueError if it is none of this chat."""
        if message is not None and message not in self._parents:
            raise ValueError(f"there is no message {message} in this chat")
        path: list[int] = []
        while message is not None:
            path.append(message)
            message = self._parents[message]
        return tuple(reversed(path))

    def newest_leaf(self, message: int, without: Container[int] = ()) -> int:
        """The end of the branch through this message that goes on with the newest one each time, but for some."""
        while behind := [child for child in self._children.get(message, ()) if child not in without]:
            message = behind[-1]
        return message
