"""A JSON object from outside, read strictly: all keys there and no other, of the right types; errors name the place."""

from __future__ import annotations

import reprlib
from typing import Final, TypeVar

from specdesk.errors import UsageError

T = TypeVar("T")

_NAMES: Final = {str: "text", int: "a whole number", list: "a list", dict: "an object", type(None): "null"}


class StrictObject:
    """An object of a document that knows where it stands. Methods raise UsageError naming that place."""

    def __init__(self, place: str, value: object) -> None:
        self._place = place
        if type(value) is not dict:
            raise self.error(f"must be an object, not {_named(value)}")
        self._left = value.copy()

    def take(self, key: str, kind: type[T]) -> T:
        """The value of `key`, exactly of type `kind`."""
        if key not in self._left:
            raise self.error(f"{key} is missing")
        value = self._left.pop(key)
        if type(value) is not kind:
            raise self.error(f"{key} must be {_NAMES[kind]}, not {_named(value)}")
        return value

    def take_or_none(self, key: str, kind: type[T]) -> T | None:
        """The same, or None where it is null."""
        if key in self._left and self._left[key] is None:
            del self._left[key]
            return None
        return self.take(key, kind)

    def objects(self, key: str) -> list[StrictObject]:
        """The list of objects under `key`."""
        return [StrictObject(f"{self._place}{key}[{number}]", item) for number, item in enumerate(self.take(key, list))]

    def end(self) -> None:
        """To be called when everything has been taken: refuses what is left."""
        if self._left:
            raise self.error(f"unknown key {reprlib.repr(min(self._left))}")

    def error(self, message: str, hint: str = "") -> UsageError:
        """An error at this place, to be raised."""
        return UsageError(f"{self._place}: {message}" if self._place else message, hint)


def _named(value: object) -> str:
    """A value short enough for a message; of lists and objects their kind."""
    return _NAMES[type(value)] if isinstance(value, list | dict | None) else reprlib.repr(value)
