"""What the disk, or the engine, may refuse: it is tried, and a refusal is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from specdesk.errors import SpecdeskError

_Result = TypeVar("_Result")


class ShowsErrors(Protocol):
    """Who tells the user what was refused."""

    def show_error(self, error: SpecdeskError) -> None:
        """This was refused."""


class Tells(ShowsErrors, Protocol):
    """Who tells the user of what was done, too."""

    def say(self, text: str) -> None:
        """Tell in passing."""


def result_of(attempt: Callable[[], _Result], owner: ShowsErrors) -> _Result | None:
    """What comes of it; None where it raises SpecdeskError, which the owner shows."""
    try:
        return attempt()
    except SpecdeskError as error:
        owner.show_error(error)
        return None


def done(attempt: Callable[[], object], owner: ShowsErrors) -> bool:
    """Whether it was done, whatever came of it; if it raises SpecdeskError, the owner shows that."""

    def tried() -> bool:
        attempt()
        return True

    return result_of(tried, owner) is not None
