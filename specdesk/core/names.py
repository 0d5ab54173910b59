"""What the accept rules are called, for those who only choose one."""

from __future__ import annotations

from enum import StrEnum


class RuleName(StrEnum):
    """The accept rules there are."""

    REJECTION = "rejection"
    BLOCK = "block"
    COUPLED = "coupled"


DEFAULT_RULE = RuleName.BLOCK
"""Never accepts fewer tokens than rejection on average, and measured more; coupled accepts a little less."""
