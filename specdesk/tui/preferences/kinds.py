"""Kinds of values: how one is typed, shown, and found in a file."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


class Kind(Protocol):
    """A kind of value. What raises ValueError says what is allowed, without naming the setting."""

    def read(self, text: str) -> Any:
        """The value that is meant by what was typed. Raises ValueError."""

    def show(self, value: Any) -> str:
        """What is typed for a value."""

    def take(self, found: object) -> Any:
        """The value that stands in a file. Raises ValueError."""

    def give(self, value: Any) -> object:
        """What stands in a file for a value."""


@dataclass(frozen=True, slots=True)
class Number:
    """Any number."""

    def read(self, text: str) -> float:
        """Without a unit, with a point if there is a fraction."""
        try:
            return float(text)
        except ValueError:
            raise ValueError(f"must be a number, not {reprlib.repr(text)}") from None

    def show(self, value: float) -> str:
        """As short as it can be."""
        return str(value).removesuffix(".0")

    def take(self, found: object) -> float:
        """A number of either type."""
        if type(found) not in (int, float):
            raise ValueError(f"must be a number, not {_found(found)}")
        return self.read(str(found))

    def give(self, value: float) -> object:
        """Itself."""
        return value


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number within bounds, or a word that stands for a value; the empty word is an empty field."""

    low: int
    high: int
    words: Mapping[str, int | None] = field(default_factory=dict)

    def read(self, text: str) -> int | None:
        """A number or a word."""
        plain = text.strip().lower()
        if plain in self.words:
            return self.words[plain]
        try:
            return self._within(int(plain))
        except ValueError:
            raise ValueError(f"must be {self._allowed}, not {text.strip() or 'empty'}") from None

    def show(self, value: int | None) -> str:
        """The word for it if there is one."""
        return next((word for word, meant in self.words.items() if meant == value), str(value))

    def take(self, found: object) -> int | None:
        """A number, a word, or null for the empty word."""
        word = "" if found is None else found
        if isinstance(word, str) and word in self.words and found != "":
            return self.words[word]
        if type(found) is int and self.low <= found <= self.high:
            return found
        raise ValueError(f"must be {self._allowed}, not {_found(found)}")

    def give(self, value: int | None) -> object:
        """Null stands for the empty word, other words for themselves where there is no number."""
        return value if value is not None else self.show(value) or None

    def _within(self, number: int) -> int:
        if not self.low <= number <= self.high:
            raise ValueError
        return number

    @property
    def _allowed(self) -> str:
        words = "".join(f"{word or 'empty'}, " for word in self.words).removesuffix(", ")
        return f"{words}{' or ' if words else ''}a whole number from {self.low} to {self.high}"


@dataclass(frozen=True, slots=True)
class Word:
    """One of a few values, each with its word."""

    words: Mapping[str, Any]

    def read(self, text: str) -> Any:
        """The value of a word."""
        if text not in self.words:
            raise ValueError(f"must be {_either(self.words)}, not {reprlib.repr(text)}")
        return self.words[text]

    def show(self, value: Any) -> str:
        """The word for it."""
        return next(word for word, meant in self.words.items() if meant is value)

    def take(self, found: object) -> Any:
        """A word; where the values are yes and no, true and false."""
        if isinstance(found, str):
            return self.read(found)
        if isinstance(found, bool) and found in self.words.values():
            return found
        raise ValueError(f"must be {_either(self.words)}, not {_found(found)}")

    def give(self, value: Any) -> object:
        """Yes and no as true and false, others as words."""
        return value if isinstance(value, bool) else self.show(value)


@dataclass(frozen=True, slots=True)
class Text:
    """Any text; none is an empty field."""

    def read(self, text: str) -> str | None:
        """What was typed."""
        return self._utf8(text) if text else None

    def show(self, value: str | None) -> str:
        """The text."""
        return value or ""

    def take(self, found: object) -> str | None:
        """A text or null."""
        if found is not None and not isinstance(found, str):
            raise ValueError(f"must be a text or null, not {_found(found)}")
        return None if found is None else self._utf8(found)

    def give(self, value: str | None) -> object:
        """Itself."""
        return value

    def _utf8(self, text: str) -> str:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ValueError(f"must be text, not {reprlib.repr(text)}") from None
        return text


def _either(words: Mapping[str, Any]) -> str:
    yes_or_no = set(words.values()) == {True, False}
    names = ["true", "false"] if yes_or_no else list(words)
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _found(value: object) -> str:
    """What was found, as the file has it."""
    names = {None: "null", True: "true", False: "false"}
    return names[value] if value is None or isinstance(value, bool) else reprlib.repr(value)
