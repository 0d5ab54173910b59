"""Sampler setting x accept rule x drafter: which combinations a law is tested in, quickly and in full."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from specdesk.core.names import RuleName

DRAFTERS = ("model", "suffix", "one token", "auto", "none")


def combinations(settings: Sequence[str]) -> list[object]:
    """All of them as pytest parameters (setting, rule, drafter); those outside a pairwise cover are marked slow.

    The cover has every setting with every drafter, and the rules go round so that each meets each setting and drafter.
    """
    rules = list(RuleName)
    return [
        pytest.param(setting, rule, drafter, marks=() if rule is rules[(i + j) % len(rules)] else (pytest.mark.slow,))
        for i, setting in enumerate(settings)
        for j, drafter in enumerate(DRAFTERS)
        for rule in rules
    ]
