"""What was learned of a pair's acceptance, kept from one run to the next."""

from __future__ import annotations

from pathlib import Path

from specdesk.core.acceptance import Acceptance
from specdesk.engine.machine import model_identity
from specdesk.engine.profiles import Profiles

_KIND = "acceptance"
_VERSION = 3
"""Raised when what is kept, or the evidence it is kept under, comes to mean something else."""


class Experience:
    """The acceptance of one pair of files, read when it is opened and written when it is kept."""

    def __init__(self, target: Path, draft: Path | None, profiles: Profiles) -> None:
        """Raises ModelError for a file that cannot be read."""
        self._profiles = profiles
        self._key = {
            "version": _VERSION,
            "target": model_identity(target),
            "draft": None if draft is None else model_identity(draft),
        }
        self._kept = profiles.get(_KIND, self._key)
        try:
            self.acceptance = Acceptance() if self._kept is None else Acceptance.from_state(self._kept)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
            self.acceptance = Acceptance()

    def keep(self) -> None:
        """Write it, if anything was learned."""
        state = self.acceptance.state
        if state not in (self._kept, Acceptance().state):
            self._profiles.put(_KIND, self._key, state)
            self._kept = state
