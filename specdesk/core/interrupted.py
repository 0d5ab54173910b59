"""How a model says that it was stopped."""

from __future__ import annotations


class Interrupted(Exception):  # noqa: N818 — what happened, not an error
    """A pass was stopped from outside. The cache holds what `ids` says."""
