"""Checks of option values that Typer cannot make by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer


def within(low: float, high: float) -> Callable[[Any], Any]:
    """A check that names the value it refuses; NaN is in no range. A value that was not given passes."""

    def check(value: Any) -> Any:
        if value is not None and not low <= value <= high:
            raise typer.BadParameter(f"must be {low} to {high}, not {value}")
        return value

    return check


def is_text(text: str | None) -> str | None:
    """Refuse what the shell handed over as bytes that are no UTF-8."""
    if text is not None:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise typer.BadParameter(f"is not UTF-8 text: {text!r}") from None
    return text


def not_empty(texts: list[str] | None) -> list[str] | None:
    """Refuse an empty text, or none at all, in a repeated option."""
    if texts and "" in texts:
        raise typer.BadParameter("must not be empty")
    for text in texts or ():
        is_text(text)
    return texts


def auto_or_number(text: str) -> int | None:
    """A whole number, or None for auto."""
    if text == "auto":
        return None
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"must be auto or a number, not {text!r}") from None


def are_shares(text: str | None) -> str | None:
    """Refuse what `shares` cannot read."""
    if text is not None:
        shares(text)
    return text


def shares(text: str) -> tuple[float, ...]:
    """Numbers separated by commas, none of them negative and not all 0."""
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"must be numbers separated by commas, not {text!r}") from None
    if not all(0 <= share < float("inf") for share in found) or not any(found):
        raise typer.BadParameter(f"must be shares of 0 or more, and not all 0: {text!r}")
    return found
