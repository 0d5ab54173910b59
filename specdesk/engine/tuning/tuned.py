"""What runs otherwise than given because it was found to be fastest for a pair."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from specdesk.memory import CacheType

UNDO: Final = "specdesk tune --undo takes it back"


@dataclass(frozen=True, slots=True)
class TunedDraft:
    """Another format of the draft model, made on this machine."""

    file: str
    format: str
    n_bytes: int
    """Of the file as it was made."""

    @property
    def intact(self) -> bool:
        """Whether the file is there, and as long as it was made."""
        try:
            return Path(self.file).stat().st_size == self.n_bytes
        except (OSError, ValueError):  # the latter for what can be no path
            return False


@dataclass(frozen=True, slots=True)
class Tuned:
    """What runs otherwise than given."""

    draft: TunedDraft | None = None
    """None: the file as given."""
    n_threads: int | None = None
    """None: as many as by default."""
    cache_type_k: CacheType | None = None
    """How the target's keys are cached; None: as by default."""

    def __bool__(self) -> bool:
        """Whether anything does."""
        return self != Tuned()

    @property
    def words(self) -> str:
        """The same for the user; empty if nothing does."""
        threads = f"{self.n_threads} thread{'' if self.n_threads == 1 else 's'}"
        parts = (
            "" if self.draft is None else f"draft as {self.draft.format}",
            "" if self.n_threads is None else threads,
            "" if self.cache_type_k is None else f"keys cached as {self.cache_type_k}",
        )
        return ", ".join(part for part in parts if part)
