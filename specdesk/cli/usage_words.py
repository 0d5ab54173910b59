"""What a wrong command line is told: in words of ours where the library that reads it has its own."""

from __future__ import annotations

import re
from typing import Any, Final

import typer

_NO_CHOICE: Final = re.compile(r"Value error, (?P<value>.+) is not one of (?P<choices>'.+')\.?", re.DOTALL)
_OF_TYPES: Final = {"int_parsing": "a whole number", "int_from_float": "a whole number", "float_parsing": "a number"}
"""What a value should have been, by the name of what is wrong with it."""


def said_of(error: typer.TyperException) -> str:
    """One line: which option, what it must be, and what was given."""
    theirs = str(getattr(error, "message", ""))
    ours = _reworded(theirs, error.__cause__)
    return error.format_message().replace(theirs, ours) if theirs else error.format_message()


def _reworded(message: str, cause: Any) -> str:
    match = _NO_CHOICE.fullmatch(message)
    if match is not None:
        *choices, last = match["choices"].replace("'", "").split(", ")
        either = f"{', '.join(choices)} or {last}" if choices else last
        return f"must be {either}, not {match['value']}"
    for known in _errors(cause):
        if (wanted := _OF_TYPES.get(known.get("type"))) is not None:
            return f"must be {wanted}, not {known.get('input')!r}"
    return message.removeprefix("Value error, ")


def _errors(cause: Any) -> list[Any]:
    """What its validator found, where there is one."""
    return list(cause.errors()) if hasattr(cause, "errors") else []
