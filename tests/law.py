"""Do samples follow a law that is known exactly?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.stats import chi2

MIN_EXPECTED = 5.0
"""Cells expecting fewer samples are pooled: the chi-square approximation needs that much."""


def joint_law_p_value(samples: Sequence[tuple[int, ...]], law: Mapping[tuple[int, ...], float]) -> float:
    """The probability of a chi-square at least as large if `samples` follow `law`; 0 for a sample the law forbids.

    Source: Pearson's test with the rarest outcomes pooled.
    """
    counts = Counter(samples)
    if any(law.get(outcome, 0.0) <= 0 for outcome in counts):
        return 0.0
    cells = sorted((probability, outcome) for outcome, probability in law.items() if probability > 0)
    observed: list[float] = []
    expected: list[float] = []
    pooled_observed = pooled_expected = 0.0
    for probability, outcome in cells:
        pooled_observed += counts[outcome]
        pooled_expected += probability * len(samples)
        if pooled_expected >= MIN_EXPECTED:
            observed.append(pooled_observed)
            expected.append(pooled_expected)
            pooled_observed = pooled_expected = 0.0
    if pooled_expected:
        observed[-1] += pooled_observed
        expected[-1] += pooled_expected
    o, e = np.array(observed), np.array(expected)
    return float(chi2.sf(((o - e) ** 2 / e).sum(), o.size - 1))
