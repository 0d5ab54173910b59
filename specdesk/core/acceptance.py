"""How likely draft tokens are to be accepted: what drafters say of them, corrected by what became of such tokens."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Self

from specdesk.core.ease import EASIEST

EXPECTED: Final = (0.58, 0.66, 0.69, 0.77, 0.83, 0.88, 0.93, 0.975)
"""Acceptance of a token of which nothing is known yet but the ease of the text. Measured on the default pair, as the
shares below: 10,700 tokens of 66 answers of all kinds. Once a draft has said how sure it is, ease adds nothing."""

_SURE_SHARES: Final = (0.2, 0.22, 0.28, 0.44, 0.51, 0.68, 0.8, 0.935)
"""First tokens that are offered very surely, by ease."""
_SURE: Final = 0.985
"""How many of these stand."""
_UNSURE: Final = ((0.3, 0.4), (0.35, 0.58), (0.35, 0.82))
"""Shares of the others, and how many of each stand."""
_PRIOR_WEIGHT: Final = 6.0
"""Tests that outweigh a drafter's first guess."""
_MEMORY: Final = 400.0
"""Tests that count at most: older ones fade."""
_LEAST_GUESS: Final = 0.1
"""No drafter guesses less: at most 1 / this as many tokens stand as were expected."""
_FOLLOW_WEIGHT: Final = 1 / 12
"""Of one token in the mean acceptance of what follows tokens like the one before it."""
_GOOD_FAITH: Final = 4.0
"""Tokens of a source that are taken to have stood as expected, before any was tested."""
_WORTH_FAITH: Final = 5.0
"""The same for all of a source's tokens in all answers."""
_TRUST_MEMORY: Final = 0.98
"""What is left of a test in the trust in a source when the answer is one token longer. By replay 0.93 to 0.98 are as
fast; where tests fade behind other tests only, a bad start has a source given up for the rest of its answer."""
_PRIOR_OFFERS: Final = 4.0
"""Offers that outweigh what is usual."""
_OFFER_MEMORY: Final = 0.97
"""What is left of an offer after the next one: texts change."""
_START: Final = -1
"""Level of a first token before it is offered."""
_UNSEEN: Final = -10
"""Level, with those below it, of offers that are expected though no drafter made them yet."""


class Record(NamedTuple):
    """How a source did in all answers; old tokens fade."""

    stood: float
    """Tokens that did."""
    expected: float
    """Tokens that were to, by the source's first guesses."""


class Evidence(NamedTuple):
    """What a drafter can say of one of its tokens. Those with the same evidence are thought equally likely to stand."""

    source: str
    """Which drafter."""
    level: int
    """How sure it is, in steps of its own; below 0 before anything is known."""
    guess: float
    """The probability of acceptance before any experience, in (0, 1); the same wherever source and level are."""


def start_of(source: str) -> Evidence:
    """What is known of a first token before it is offered: nothing but its source. The guess is never used."""
    return Evidence(source, _START, 0.75)


@dataclass(slots=True)
class _Counts:
    accepted: float
    tested: float


_NO_COUNTS: Final = _Counts(0.0, 0.0)


def _count(counts: _Counts, accepted: float, tested: float) -> None:
    fading = _MEMORY / max(_MEMORY, counts.tested + tested)
    counts.accepted = fading * counts.accepted + accepted
    counts.tested = fading * counts.tested + tested


@dataclass(slots=True)
class Acceptance:
    """Learned online from the tokens that were offered and tested, and how long ago in the answer: same tokens, same
    estimates.

    What is yet to be offered depends on the ease of the text, a whole number from 0 to EASIEST (`Ease`).
    """

    _counts: dict[Evidence, _Counts] = field(default_factory=dict)
    _follow: dict[tuple[Evidence, int], float] = field(default_factory=dict)
    _means: dict[tuple[str, int], float] = field(default_factory=dict)
    _offers: dict[tuple[str, int], dict[Evidence, float]] = field(default_factory=dict)
    _sources: dict[str, _Counts] = field(default_factory=dict)
    _trusted: dict[str, _Counts] = field(default_factory=dict, compare=False)
    _worth_before: dict[str, float] = field(default_factory=dict, compare=False)

    @property
    def state(self) -> dict[str, Any]:
        """What was learned for good, as JSON data."""
        return {
            "counts": [[*evidence, one.accepted, one.tested] for evidence, one in self._counts.items()],
            "sources": [[source, one.accepted, one.tested] for source, one in self._sources.items()],
            "follow": [[*evidence, ease, mean] for (evidence, ease), mean in self._follow.items()],
            "means": [[source, ease, mean] for (source, ease), mean in self._means.items()],
            "offers": [
                [source, ease, [[*evidence, weight] for evidence, weight in seen.items()]]
                for (source, ease), seen in self._offers.items()
            ],
        }

    @classmethod
    def from_state(cls, state: Any) -> Self:
        """What `state` gave. Raises an error of whatever kind for anything else."""
        return cls(
            {_evidence(*key): _share(a, t) for *key, a, t in state["counts"]},
            {(_evidence(*key), _ease(ease)): _chance(mean) for *key, ease, mean in state["follow"]},
            {(source, _ease(ease)): _chance(mean) for source, ease, mean in state["means"]},
            {
                (source, _ease(ease)): {_evidence(*key): _weight(weight) for *key, weight in seen}
                for source, ease, seen in state["offers"]
            },
            {source: _counted(a, t) for source, a, t in state["sources"]},
        )

    def begin(self) -> None:
        """A new answer starts: how far each source can be trusted is found out anew, since texts differ."""
        self._trusted.clear()
        self._worth_before = {source: self._worth(source) for source in self._sources}

    def of(self, evidence: Evidence) -> float:
        """The probability that a token with this evidence stands, if all before it do."""
        return self._trust(evidence.source) * self._rate(evidence)

    def after(self, evidence: Evidence, ease: int) -> float:
        """The same for a token that has yet to be offered, behind one with this evidence."""
        return self._trust(evidence.source) * self._mean_after(evidence, ease)

    def record(self, source: str) -> Record:
        """What became of a source's tokens so far."""
        counts = self._sources.get(source, _NO_COUNTS)
        return Record(counts.accepted, counts.tested)

    def offers(self, source: str, ease: int) -> list[tuple[float, Evidence]]:
        """Evidences with which a first token may be offered, each with its probability."""
        weights = {evidence: _PRIOR_OFFERS * weight for weight, evidence in _usual(source, ease)}
        for evidence, weight in self._offers.get((source, ease), {}).items():
            weights[evidence] = weights.get(evidence, 0.0) + weight
        total = sum(weights.values())
        return [(weight / total, evidence) for evidence, weight in weights.items()]

    def saw(self, before: Evidence, offered: Evidence, ease: int) -> None:
        """Behind a token with the evidence `before`, or at a start, one was offered with the evidence `offered`."""
        rate, source = self._rate(offered), offered.source
        follow = self._mean_after(before, ease)
        self._follow[before, ease] = follow + _FOLLOW_WEIGHT * (rate - follow)
        mean = self._means.get((source, ease), EXPECTED[ease] * self._worth(source))
        self._means[source, ease] = mean + _FOLLOW_WEIGHT * (rate - mean)
        if before.level < 0:
            seen = self._offers.setdefault((source, ease), {})
            for evidence in seen:
                seen[evidence] *= _OFFER_MEMORY
            seen[offered] = seen.get(offered, 0.0) + 1.0

    def wrote(self, n_tokens: int) -> None:
        """The answer went on by so many tokens: what each source did in it counts for less, tested again or not."""
        left = _TRUST_MEMORY**n_tokens
        for trusted in self._trusted.values():
            trusted.accepted = left * trusted.accepted + (1.0 - left) * _GOOD_FAITH
            trusted.tested = left * trusted.tested + (1.0 - left) * _GOOD_FAITH

    def learn(self, evidence: Evidence, *, accepted: bool) -> None:
        """A token with this evidence was tested."""
        trusted = self._trusted.setdefault(evidence.source, _Counts(_GOOD_FAITH, _GOOD_FAITH))
        trusted.accepted += accepted
        trusted.tested += self._rate(evidence)
        _count(self._counts.setdefault(evidence, _Counts(0.0, 0.0)), accepted, 1.0)
        _count(self._sources.setdefault(evidence.source, _Counts(0.0, 0.0)), accepted, evidence.guess)

    def _rate(self, evidence: Evidence) -> float:
        guess = evidence.guess * self._worth(evidence.source)
        counts = self._counts.get(evidence, _NO_COUNTS)
        return (counts.accepted + _PRIOR_WEIGHT * guess) / (counts.tested + _PRIOR_WEIGHT)

    def _mean_after(self, evidence: Evidence, ease: int) -> float:
        known = self._follow.get((evidence, ease), self._means.get((evidence.source, ease)))
        return EXPECTED[ease] * self._worth(evidence.source) if known is None else known

    def _worth(self, source: str) -> float:
        """How many tokens ever stood of those that were to stand by the source's first guesses, at most all.

        One that is never right is found out by all of its tests together, long before each of its evidences is.
        """
        counts = self._sources.get(source, _NO_COUNTS)
        return min(1.0, (counts.accepted + _WORTH_FAITH) / (counts.tested + _WORTH_FAITH))

    def _trust(self, source: str) -> float:
        """How many tokens of this answer stood of those that were to stand, at most all.

        What they took from the source's worth is not held against it again.
        """
        trusted = self._trusted.get(source)
        if trusted is None:
            return 1.0
        lost = min(1.0, self._worth(source) / self._worth_before.get(source, 1.0))
        return min(1.0, trusted.accepted / trusted.tested / lost)


def _evidence(source: str, level: int, guess: float) -> Evidence:
    return Evidence(source, int(level), _chance(guess))


def _ease(value: int) -> int:
    """An ease as it was kept."""
    if value not in range(EASIEST + 1):
        raise ValueError(f"no ease: {value}")
    return int(value)


def _counted(accepted: float, tested: float) -> _Counts:
    """What was counted, as it was kept. More may have been accepted than was expected."""
    if not 0 <= accepted <= _MEMORY / _LEAST_GUESS:
        raise ValueError(f"no number of tokens: {accepted}")
    return _Counts(float(accepted), _weight(tested))


def _share(accepted: float, tested: float) -> _Counts:
    if accepted > tested:
        raise ValueError(f"{accepted} accepted of {tested}")
    return _counted(accepted, tested)


def _chance(value: float) -> float:
    """A probability as it was kept."""
    if not 0 < value <= 1:
        raise ValueError(f"no probability in (0, 1]: {value}")
    return float(value)


def _weight(value: float) -> float:
    """A number of tests or offers as it was kept: old ones fade, so that it is never large."""
    if not 0 < value <= 2 * _MEMORY:
        raise ValueError(f"no number of tests: {value}")
    return float(value)


def _usual(source: str, ease: int) -> Iterable[tuple[float, Evidence]]:
    """How first tokens are offered before any were seen: the more of them surely the easier the text is."""
    sure = _SURE_SHARES[ease]
    shares = (*((share * (1.0 - sure), guess) for share, guess in _UNSURE), (sure, _SURE))
    return [(share, Evidence(source, _UNSEEN - i, guess)) for i, (share, guess) in enumerate(shares)]
