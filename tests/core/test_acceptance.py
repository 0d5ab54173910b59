"""Acceptance as it is learned from offers and tests."""

from __future__ import annotations

import json
from typing import Any

import pytest

from specdesk.core.acceptance import EXPECTED, Acceptance, Evidence

START = Evidence("model", -1, 0.75)
HIGH, LOW = Evidence("model", 5, 0.9), Evidence("model", 1, 0.5)
OTHER = Evidence("suffix", 5, 0.6)


def taught(accepted: int, rejected: int, evidence: Evidence = HIGH) -> Acceptance:
    acceptance = Acceptance()
    for i in range(accepted + rejected):
        acceptance.learn(
            evidence, accepted=i * accepted // (accepted + rejected) != (i + 1) * accepted // (accepted + rejected)
        )
    return acceptance


def test_a_drafter_s_guess_holds_until_there_is_experience() -> None:
    assert Acceptance().of(HIGH) == HIGH.guess
    assert Acceptance().after(HIGH) == EXPECTED


@pytest.mark.parametrize("rate", [0.2, 0.5, 0.95])
def test_experience_replaces_the_guess(rate: float) -> None:
    acceptance = taught(round(200 * rate), round(200 * (1 - rate)))
    assert acceptance.of(HIGH) == pytest.approx(rate, abs=0.06)


def test_old_tests_fade() -> None:
    acceptance = taught(1000, 0)
    for _ in range(1000):
        acceptance.learn(HIGH, accepted=False)
    assert acceptance.of(HIGH) < 0.15


def test_a_source_that_promises_too_much_is_believed_less_at_once() -> None:
    acceptance = taught(0, 5)
    assert acceptance.of(LOW) < 0.75 * LOW.guess
    assert acceptance.of(OTHER) == OTHER.guess


def test_each_answer_starts_in_good_faith() -> None:
    acceptance = taught(0, 5)
    acceptance.begin()
    assert acceptance.of(LOW) == LOW.guess


def test_offers_are_those_seen_behind_a_start() -> None:
    acceptance = Acceptance()
    for _ in range(60):
        acceptance.saw(START, LOW)
        acceptance.saw(LOW, HIGH)
    shares = {evidence: share for share, evidence in acceptance.offers(START)}
    assert shares[LOW] > 0.85
    assert HIGH not in shares
    assert sum(shares.values()) == pytest.approx(1)


def test_what_follows_is_learned_by_what_came_before() -> None:
    acceptance = Acceptance()
    for _ in range(60):
        acceptance.saw(HIGH, HIGH)
        acceptance.saw(LOW, LOW)
    assert acceptance.after(HIGH) == pytest.approx(HIGH.guess, abs=0.02)
    assert acceptance.after(LOW) == pytest.approx(LOW.guess, abs=0.02)


def test_it_survives_being_written_down() -> None:
    acceptance = taught(7, 3)
    acceptance.saw(START, LOW)
    acceptance.saw(LOW, HIGH)
    again = Acceptance.from_state(json.loads(json.dumps(acceptance.state)))
    assert again == acceptance
    assert again.state == acceptance.state


@pytest.mark.parametrize(
    "state",
    [
        None,
        [],
        {},
        {"counts": [["model", 5, 0.9, -1.0, 2.0]], "follow": [], "means": {}, "offers": []},
        {"counts": [["model", 5, 0.9, "x", 2.0]], "follow": [], "means": {}, "offers": []},
        {"counts": [["model"]], "follow": [], "means": {}, "offers": []},
        {"counts": [], "follow": [["model", 5, 0.9, float("nan")]], "means": {}, "offers": []},
        {"counts": [], "follow": [["model", 5, 0.9, 1.5]], "means": {}, "offers": []},
        {"counts": [], "follow": [], "means": {"model": 50.0}, "offers": []},
        {"counts": [["model", 5, 9.0, 1.0, 2.0]], "follow": [], "means": {}, "offers": []},
        {"counts": [["model", 5, 0.9, 1.0, 10**400]], "follow": [], "means": {}, "offers": []},
        {"counts": [], "follow": [], "means": {}, "offers": [["model", -1, 0.75, [["model", 5, 0.9, 1e308]]]]},
    ],
)
def test_damaged_records_are_refused(state: Any) -> None:
    with pytest.raises((ValueError, TypeError, KeyError)):
        Acceptance.from_state(state)
