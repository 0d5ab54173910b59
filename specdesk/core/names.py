"""What accept rules and drafters are called, for those who only choose one."""

from __future__ import annotations

from enum import StrEnum


class RuleName(StrEnum):
    """The accept rules there are."""

    REJECTION = "rejection"
    BLOCK = "block"
    COUPLED = "coupled"


class DrafterName(StrEnum):
    """Where drafts may come from."""

    CASCADE = "cascade"
    """Whichever pays most at each step; with a fixed lookahead the draft model, where there is one."""
    MODEL = "model"
    SUFFIX = "suffix"


DEFAULT_RULE = RuleName.BLOCK
"""Never accepts fewer tokens than rejection on average, and measured more; coupled accepts a little less."""


def rule_for(wanted: RuleName | None, *, exact: bool) -> RuleName:
    """What is wanted, or if nothing is, the rule that suits the mode."""
    return wanted or (RuleName.COUPLED if exact else DEFAULT_RULE)
