"""A TOML table read strictly: every key once, of the right type, none left over; errors name the place."""

from __future__ import annotations

from typing import Any, TypeVar

from specdesk.errors import StorageError

T = TypeVar("T")


class StrictTable:
    """A table of a file of ours that knows where it stands. Methods raise StorageError naming that place."""

    def __init__(self, place: str, values: dict[str, Any]) -> None:
        self.place = place
        self._left = dict(values)

    def __contains__(self, key: str) -> bool:
        return key in self._left

    def take(self, key: str, kind: type[T]) -> T:
        """The value of `key`, exactly of type `kind` and neither empty nor zero nor negative."""
        if key not in self._left:
            raise self.error(f"{key} is missing")
        value = self._left.pop(key)
        if type(value) is not kind:
            raise self.error(f"{key} must be {kind.__name__}, not {value!r}")
        if not value or (isinstance(value, int) and value < 0):
            raise self.error(f"{key} must not be {value!r}")
        return value

    def table(self, key: str) -> StrictTable:
        """The table under `key`."""
        return StrictTable(f"{self.place}, {key}", self.take(key, dict))

    def tables(self, key: str, *, named_by: str) -> list[StrictTable]:
        """The list of tables under `key`; places call each by its `named_by`, or by its number."""
        rows = self.take(key, list)
        if not all(isinstance(row, dict) for row in rows):
            raise self.error(f"{key} must be a list of tables")
        return [
            StrictTable(f"{self.place}, {key} {row.get(named_by, number)}", row)
            for number, row in enumerate(rows, start=1)
        ]

    def end(self) -> None:
        """To be called when everything has been taken: refuses what is left."""
        if self._left:
            raise self.error(f"unknown key {', '.join(sorted(self._left))}")

    def error(self, message: str) -> StorageError:
        """An error at this place, to be raised."""
        return StorageError(f"{self.place}: {message}")
