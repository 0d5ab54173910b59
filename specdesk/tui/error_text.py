"""An error, as screens tell it."""

from __future__ import annotations

from specdesk.errors import SpecdeskError


def error_text(error: SpecdeskError) -> str:
    """What happened, and on a line of its own what to do next, if that is known."""
    return "\n".join(filter(None, (f"error: {error.message}", error.hint)))
