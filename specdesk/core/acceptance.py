"""How likely draft tokens are to be accepted: what drafters say of them, corrected by what became of such tokens."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Self

EXPECTED: Final = 0.75
"""Acceptance of a token of which nothing is known yet."""

_PRIOR_WEIGHT: Final = 6.0
"""Tests that outweigh a drafter's first guess."""
_MEMORY: Final = 400.0
"""Tests that count at most: older ones fade."""
_FOLLOW_WEIGHT: Final = 1 / 12
"""Of one token in the mean acceptance of what follows tokens like the one before it."""
_GOOD_FAITH: Final = 6.0
"""Tokens of a source that are taken to have stood as expected, before any was tested."""
_RECORD_MEMORY: Final = 0.98
"""What is left of a test in a source's record after the next one."""
_PRIOR_OFFERS: Final = 4.0
"""Offers that outweigh what is usual."""
_OFFER_MEMORY: Final = 0.97
"""What is left of an offer after the next one: texts change."""
_START, _AFTER_REJECTION, _UNSEEN = -1, -2, -10
"""Levels of tokens that nothing is known of yet, and from the last one down of offers that no drafter made yet."""


class Evidence(NamedTuple):
    """What a drafter can say of one of its tokens. Those with the same evidence are thought equally likely to stand."""

    source: str
    """Which drafter."""
    level: int
    """How sure it is, in steps of its own; below 0 before anything is known."""
    guess: float
    """The probability of acceptance before any experience, in (0, 1); the same wherever source and level are."""


def start_of(source: str) -> Evidence:
    """What is known of a first token before it is offered: nothing but its source."""
    return Evidence(source, _START, EXPECTED)


def after_rejection(start: Evidence) -> Evidence:
    """The same behind a rejected token: the text is one where drafting is hard."""
    return start._replace(level=_AFTER_REJECTION)


@dataclass(slots=True)
class _Counts:
    accepted: float
    tested: float


@dataclass(slots=True)
class Acceptance:
    """Learned online from the tokens that were offered and tested, and nothing else: same tokens, same estimates."""

    _counts: dict[Evidence, _Counts] = field(default_factory=dict)
    _follow: dict[Evidence, float] = field(default_factory=dict)
    _means: dict[str, float] = field(default_factory=dict)
    _offers: dict[Evidence, dict[Evidence, float]] = field(default_factory=dict)
    _records: dict[str, _Counts] = field(default_factory=dict, compare=False)

    @property
    def state(self) -> dict[str, Any]:
        """What was learned for good, as JSON data."""
        return {
            "counts": [[*evidence, one.accepted, one.tested] for evidence, one in self._counts.items()],
            "follow": [[*evidence, mean] for evidence, mean in self._follow.items()],
            "means": dict(self._means),
            "offers": [[*start, [[*e, weight] for e, weight in seen.items()]] for start, seen in self._offers.items()],
        }

    @classmethod
    def from_state(cls, state: Any) -> Self:
        """What `state` gave. Raises an error of whatever kind for anything else."""
        return cls(
            {_evidence(*key): _share(a, t) for *key, a, t in state["counts"]},
            {_evidence(*key): _chance(mean) for *key, mean in state["follow"]},
            {source: _chance(mean) for source, mean in state["means"].items()},
            {_evidence(*key): {_evidence(*e): _weight(w) for *e, w in seen} for *key, seen in state["offers"]},
        )

    def begin(self) -> None:
        """A new answer starts: how far each source can be trusted is found out anew, since texts differ."""
        self._records.clear()

    def of(self, evidence: Evidence) -> float:
        """The probability that a token with this evidence stands, if all before it do."""
        return self._trust(evidence.source) * self._rate(evidence)

    def after(self, evidence: Evidence) -> float:
        """The same for a token that has yet to be offered, behind one with this evidence."""
        return self._trust(evidence.source) * self._mean_after(evidence)

    def offers(self, start: Evidence) -> list[tuple[float, Evidence]]:
        """Evidences with which a first token behind `start` may be offered, each with its probability."""
        seen = self._offers.get(start) or self._offers.get(start._replace(level=_START)) or {}
        weights = {evidence: _PRIOR_OFFERS * weight for weight, evidence in _usual(start.source)}
        for evidence, weight in seen.items():
            weights[evidence] = weights.get(evidence, 0.0) + weight
        total = sum(weights.values())
        return [(weight / total, evidence) for evidence, weight in weights.items()]

    def saw(self, before: Evidence, offered: Evidence) -> None:
        """Behind a token with the evidence `before`, or at a start, one was offered with the evidence `offered`."""
        rate, source = self._rate(offered), offered.source
        follow = self._mean_after(before)
        self._follow[before] = follow + _FOLLOW_WEIGHT * (rate - follow)
        mean = self._means.get(source, EXPECTED)
        self._means[source] = mean + _FOLLOW_WEIGHT * (rate - mean)
        if before.level < 0:
            seen = self._offers.setdefault(before, {})
            for evidence in seen:
                seen[evidence] *= _OFFER_MEMORY
            seen[offered] = seen.get(offered, 0.0) + 1.0

    def learn(self, evidence: Evidence, *, accepted: bool) -> None:
        """A token with this evidence was tested."""
        records = self._records.setdefault(evidence.source, _Counts(_GOOD_FAITH, _GOOD_FAITH))
        records.accepted = _RECORD_MEMORY * records.accepted + (1.0 - _RECORD_MEMORY) * _GOOD_FAITH + accepted
        records.tested = _RECORD_MEMORY * records.tested + (1.0 - _RECORD_MEMORY) * _GOOD_FAITH + self._rate(evidence)
        counts = self._counts.setdefault(evidence, _Counts(_PRIOR_WEIGHT * evidence.guess, _PRIOR_WEIGHT))
        fading = min(1.0, _MEMORY / (counts.tested + 1.0))
        counts.accepted = fading * counts.accepted + accepted
        counts.tested = fading * counts.tested + 1.0

    def _rate(self, evidence: Evidence) -> float:
        counts = self._counts.get(evidence)
        return evidence.guess if counts is None else counts.accepted / counts.tested

    def _mean_after(self, evidence: Evidence) -> float:
        return self._follow.get(evidence, self._means.get(evidence.source, EXPECTED))

    def _trust(self, source: str) -> float:
        """How many tokens of this answer stood of those that were to stand, at most all."""
        records = self._records.get(source)
        return 1.0 if records is None else min(1.0, records.accepted / records.tested)


def _evidence(source: str, level: int, guess: float) -> Evidence:
    return Evidence(source, int(level), _chance(guess))


def _share(accepted: float, tested: float) -> _Counts:
    if accepted > tested:
        raise ValueError(f"{accepted} accepted of {tested}")
    return _Counts(_weight(accepted), _weight(tested))


def _chance(value: float) -> float:
    """A probability as it was kept."""
    if not 0 < value <= 1:
        raise ValueError(f"no probability above 0: {value}")
    return float(value)


def _weight(value: float) -> float:
    """A number of tests or offers as it was kept: old ones fade, so that it is never large."""
    if not 0 < value <= 2 * _MEMORY:
        raise ValueError(f"no number of tests: {value}")
    return float(value)


def _usual(source: str) -> Iterable[tuple[float, Evidence]]:
    """How first tokens are offered before any were seen: most of them surely."""
    shares = ((0.1, 0.4), (0.15, 0.6), (0.2, 0.84), (0.55, 0.98))
    return [(share, Evidence(source, _UNSEEN - i, guess)) for i, (share, guess) in enumerate(shares)]
