"""What a fetch tells whoever watches it. This package prints nothing itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FetchPlan:
    """What is about to be fetched, before the first byte."""

    name: str
    files: tuple[str, ...]
    size_bytes: int
    """Of all of them."""
    here_bytes: int
    """What has come of them in earlier tries."""
    memory_bytes: int | None
    """What running it takes, at the context length specdesk uses unless told otherwise; an estimate.

    None where it is not known.
    """
    licences: tuple[str, ...]
    """Empty where the source states none."""
    destination: Path
    free_bytes: int
    """What is free there."""


class Reporter(Protocol):
    """Whoever shows progress."""

    def begin(self, plan: FetchPlan) -> None:
        """Called once, before the first byte, and not at all when nothing is missing."""

    def start(self, file: str, total_bytes: int) -> None:
        """A try at a file begins, from its first byte; one that has not finished before has failed."""

    def keep(self, n_bytes: int) -> None:
        """That many bytes of the file, its first ones, are here from an earlier try and are gone on from."""

    def advance(self, n_bytes: int) -> None:
        """That many more bytes of the file have arrived."""

    def finish(self, *, hashed: bool = True) -> None:
        """The file has been checked and has its name; not `hashed` where only its length could be."""

    def notice(self, text: str) -> None:
        """One line the user should see, such as why another source is tried."""
