"""Acceptance as it is learned from offers and tests."""

from __future__ import annotations

import json
from typing import Any

import pytest

from specdesk.core.acceptance import EXPECTED, Acceptance, Evidence, after_rejection

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
    acceptance.begin()
    assert acceptance.of(HIGH) < 0.15


def test_a_source_that_promises_too_much_is_believed_less_at_once() -> None:
    acceptance = taught(0, 5)
    assert acceptance.of(LOW) < 0.75 * LOW.guess
    assert acceptance.of(OTHER) == OTHER.guess


def test_a_source_that_keeps_more_than_it_promised_is_believed_no_more_than_that() -> None:
    assert taught(40, 0, LOW).of(HIGH) == HIGH.guess


def test_trust_is_in_what_is_yet_to_be_offered_too() -> None:
    assert taught(0, 5).after(LOW) < 0.75 * EXPECTED


def test_a_good_record_does_not_excuse_a_bad_stretch() -> None:
    acceptance = taught(400, 0)
    for _ in range(20):
        acceptance.learn(HIGH, accepted=False)
    assert acceptance.of(LOW) < 0.8 * LOW.guess


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


def test_old_offers_fade() -> None:
    acceptance = Acceptance()
    for evidence in (LOW, HIGH):
        for _ in range(100):
            acceptance.saw(START, evidence)
    shares = {evidence: share for share, evidence in acceptance.offers(START)}
    assert shares[HIGH] > 0.8
    assert shares[LOW] < 0.1


def test_offers_are_counted_at_starts_alone() -> None:
    acceptance = Acceptance()
    acceptance.saw(START, LOW)
    acceptance.saw(LOW, HIGH)
    assert [offer[:3] for offer in acceptance.state["offers"]] == [[*START]]


def test_behind_a_rejection_offers_are_those_of_any_start_until_some_were_seen() -> None:
    acceptance, rejected = Acceptance(), after_rejection(START)
    for _ in range(60):
        acceptance.saw(START, HIGH)
    assert max(acceptance.offers(rejected))[1] == HIGH
    for _ in range(60):
        acceptance.saw(rejected, LOW)
    assert max(acceptance.offers(rejected))[1] == LOW
    assert max(acceptance.offers(START))[1] == HIGH


def test_what_follows_is_the_one_offered_and_not_the_one_before() -> None:
    acceptance = Acceptance()
    for _ in range(60):
        acceptance.saw(HIGH, LOW)
    assert acceptance.after(HIGH) == pytest.approx(LOW.guess, abs=0.02)


def test_behind_evidence_that_is_new_its_source_s_mean_is_expected() -> None:
    acceptance = Acceptance()
    for _ in range(60):
        acceptance.saw(LOW, LOW)
    assert acceptance.after(HIGH) == pytest.approx(LOW.guess, abs=0.02)
    assert acceptance.after(OTHER) == EXPECTED


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
