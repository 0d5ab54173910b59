"""No drafting: what plain decoding drafts with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from specdesk.core.drafters.protocol import Draw
from specdesk.core.verify import DraftToken


class NoDrafter:
    """Never proposes anything, so every step is plain."""

    name = "none"

    def begin(self, committed: Sequence[int]) -> None:
        """Nothing to prepare."""

    def room(self, n_committed: int) -> int:  # noqa: ARG002
        """Never any."""
        return 0

    def propose(self, committed: Sequence[int], draw: Draw) -> Iterator[DraftToken]:  # noqa: ARG002
        """Nothing."""
        return iter(())

    def settle(self, length: int) -> None:
        """Nothing is kept anyway."""
