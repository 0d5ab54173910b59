"""Acceptance as it is learned from offers and tests."""

from __future__ import annotations

import json
from typing import Any

import pytest

from specdesk.core.acceptance import EXPECTED, Acceptance, Evidence, start_of
from specdesk.core.ease import EASIEST

START = start_of("model")
HIGH, LOW = Evidence("model", 5, 0.9), Evidence("model", 1, 0.5)
OTHER = Evidence("suffix", 5, 0.6)


def taught(accepted: int, rejected: int, evidence: Evidence = HIGH) -> Acceptance:
    acceptance = Acceptance()
    for i in range(accepted + rejected):
        acceptance.learn(
            evidence, accepted=i * accepted // (accepted + rejected) != (i + 1) * accepted // (accepted + rejected)
        )
    return acceptance


def known() -> Acceptance:
    """A source that kept its promises until now, at another evidence, in a new answer."""
    acceptance = taught(60, 0, Evidence("model", 9, 0.9))
    acceptance.begin()
    return acceptance


def failed(acceptance: Acceptance, n: int) -> Acceptance:
    for _ in range(n):
        acceptance.learn(HIGH, accepted=False)
    return acceptance


def test_a_drafter_s_guess_holds_until_there_is_experience() -> None:
    assert Acceptance().of(HIGH) == HIGH.guess
    assert Acceptance().after(HIGH, 4) == EXPECTED[4]


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
    assert taught(0, 5).after(LOW, 4) < 0.75 * EXPECTED[4]


def test_a_good_record_does_not_excuse_a_bad_stretch() -> None:
    acceptance = Acceptance()
    for accepted in [True] * 400 + [False] * 20:
        acceptance.wrote(1)
        acceptance.learn(HIGH, accepted=accepted)
    assert acceptance.of(LOW) < 0.8 * LOW.guess


def test_what_a_source_did_counts_less_the_longer_the_answer_goes_on() -> None:
    """A source that was given up is not tested, and has nothing else to be believed again by."""
    acceptance = failed(known(), 5)
    trust = [acceptance.of(LOW)]
    for _ in range(4):
        acceptance.wrote(30)
        trust.append(acceptance.of(LOW))
    assert trust == sorted(set(trust))
    acceptance.begin()
    assert trust[-1] == pytest.approx(acceptance.of(LOW), rel=0.2)
    assert trust[-1] < acceptance.of(LOW)


def test_a_wrong_token_is_held_against_a_source_once() -> None:
    """It counts for how far the source is trusted in this answer and for its worth in all of them."""
    acceptance = Acceptance()
    acceptance.begin()
    acceptance.learn(HIGH, accepted=False)
    assert acceptance.of(LOW) == pytest.approx(LOW.guess * 4 / (4 + HIGH.guess), rel=0.05)


def test_tokens_of_one_step_count_like_as_many_steps() -> None:
    one, many = failed(known(), 5), failed(known(), 5)
    one.wrote(7)
    for _ in range(7):
        many.wrote(1)
    assert one.of(LOW) == pytest.approx(many.of(LOW))


def test_each_answer_starts_in_good_faith() -> None:
    acceptance = failed(known(), 5)
    before = acceptance.of(LOW)
    acceptance.begin()
    assert before < 0.7 * acceptance.of(LOW)
    assert acceptance.of(LOW) <= LOW.guess


def test_a_source_that_is_never_right_is_found_out_by_all_its_tokens_together() -> None:
    """Each evidence is seen three times only, the one asked about never."""
    acceptance = Acceptance()
    for level in range(12):
        for _ in range(3):
            acceptance.learn(Evidence("model", 20 + level, 0.5), accepted=False)
    acceptance.begin()
    assert acceptance.of(HIGH) < 0.4 * HIGH.guess
    assert acceptance.after(HIGH, 4) < 0.4 * EXPECTED[4]
    assert acceptance.of(OTHER) == OTHER.guess


def test_a_source_that_is_right_as_often_as_it_says_is_believed() -> None:
    acceptance = Acceptance()
    for i in range(200):
        acceptance.learn(LOW, accepted=i % 2 == 0)
    acceptance.begin()
    assert acceptance.of(HIGH) == pytest.approx(HIGH.guess, abs=0.03)


def test_offers_are_those_seen_behind_a_start() -> None:
    acceptance = Acceptance()
    for _ in range(60):
        acceptance.saw(START, LOW, 4)
        acceptance.saw(LOW, HIGH, 4)
    shares = {evidence: share for share, evidence in acceptance.offers("model", 4)}
    assert shares[LOW] > 0.85
    assert HIGH not in shares
    assert sum(shares.values()) == pytest.approx(1)


def test_old_offers_fade() -> None:
    acceptance = Acceptance()
    for evidence in (LOW, HIGH):
        for _ in range(100):
            acceptance.saw(START, evidence, 4)
    shares = {evidence: share for share, evidence in acceptance.offers("model", 4)}
    assert shares[HIGH] > 0.8
    assert shares[LOW] < 0.1


def test_offers_are_counted_at_starts_alone() -> None:
    acceptance = Acceptance()
    acceptance.saw(START, LOW, 4)
    acceptance.saw(LOW, HIGH, 4)
    assert [offer[:2] for offer in acceptance.state["offers"]] == [["model", 4]]


def test_offers_are_those_of_texts_as_easy() -> None:
    acceptance = Acceptance()
    for _ in range(60):
        acceptance.saw(START, HIGH, EASIEST)
        acceptance.saw(START, LOW, 0)
    assert max(acceptance.offers("model", EASIEST))[1] == HIGH
    assert max(acceptance.offers("model", 0))[1] == LOW
    assert acceptance.offers("model", 4) == Acceptance().offers("model", 4)


def test_the_easier_the_text_the_more_is_expected() -> None:
    acceptance = Acceptance()
    eases = range(EASIEST + 1)
    means = [acceptance.after(HIGH, ease) for ease in eases]
    first = [sum(share * offer.guess for share, offer in acceptance.offers("model", ease)) for ease in eases]
    for values in (means, first):
        assert values == sorted(values)
        assert values[0] < 0.7
        assert values[-1] > 0.95


def test_what_follows_is_the_one_offered_and_not_the_one_before() -> None:
    acceptance = Acceptance()
    for _ in range(60):
        acceptance.saw(HIGH, LOW, 4)
    assert acceptance.after(HIGH, 4) == pytest.approx(LOW.guess, abs=0.02)


def test_behind_evidence_that_is_new_its_source_s_mean_is_expected() -> None:
    acceptance = Acceptance()
    for _ in range(60):
        acceptance.saw(LOW, LOW, 4)
    assert acceptance.after(HIGH, 4) == pytest.approx(LOW.guess, abs=0.02)
    assert acceptance.after(OTHER, 4) == EXPECTED[4]


def test_what_follows_is_learned_by_what_came_before() -> None:
    acceptance = Acceptance()
    for _ in range(60):
        acceptance.saw(HIGH, HIGH, 4)
        acceptance.saw(LOW, LOW, 4)
    assert acceptance.after(HIGH, 4) == pytest.approx(HIGH.guess, abs=0.02)
    assert acceptance.after(LOW, 4) == pytest.approx(LOW.guess, abs=0.02)


def test_it_survives_being_written_down() -> None:
    acceptance = taught(7, 3)
    acceptance.saw(START, LOW, 4)
    acceptance.saw(LOW, HIGH, 4)
    again = Acceptance.from_state(json.loads(json.dumps(acceptance.state)))
    assert again == acceptance
    assert again.state == acceptance.state


GOOD: dict[str, Any] = {
    "counts": [["model", 5, 0.9, 1.0, 2.0]],
    "sources": [["model", 1.0, 1.8]],
    "follow": [["model", 5, 0.9, 4, 0.8]],
    "means": [["model", 4, 0.8]],
    "offers": [["model", 4, [["model", 5, 0.9, 1.0]]]],
}


def test_a_record_as_it_is_kept_is_read() -> None:
    assert Acceptance.from_state(GOOD).state == GOOD


@pytest.mark.parametrize(
    "state",
    [
        None,
        [],
        {},
        *(
            GOOD | {"counts": [row]}
            for row in (
                ["model"],
                ["model", 5, 0.9, -1.0, 2.0],
                ["model", 5, 0.9, "x", 2.0],
                ["model", 5, 9.0, 1.0, 2.0],
                ["model", 5, 0.9, 3.0, 2.0],
                ["model", 5, 0.9, 1.0, 10**400],
            )
        ),
        *(GOOD | {"follow": [["model", 5, 0.9, 4, mean]]} for mean in (float("nan"), 1.5, 0.0, None)),
        *(GOOD | {"means": [["model", 4, mean]]} for mean in (50.0, -1.0)),
        *(GOOD | {"means": [["model", ease, 0.8]]} for ease in (-1, EASIEST + 1, 2.5, "4")),
        *(GOOD | {"offers": [["model", 4, [["model", 5, 0.9, weight]]]]} for weight in (1e308, 0.0, float("nan"))),
        *(GOOD | {"sources": [["model", accepted, 1.8]]} for accepted in (-1.0, 1e308, float("nan"))),
        GOOD | {"means": {"model": 0.8}},
    ],
)
def test_damaged_records_are_refused(state: Any) -> None:
    with pytest.raises((ValueError, TypeError, KeyError)):
        Acceptance.from_state(state)


@pytest.mark.parametrize(("accepted", "rejected"), [(2000, 0), (1000, 500), (0, 3)])
def test_whatever_was_learned_is_read_again(accepted: int, rejected: int) -> None:
    acceptance = taught(accepted, rejected, Evidence("model", 1, 0.3))
    assert Acceptance.from_state(json.loads(json.dumps(acceptance.state))) == acceptance


def test_hundreds_of_tests_are_remembered() -> None:
    acceptance = taught(300, 0)
    for _ in range(100):
        acceptance.learn(HIGH, accepted=False)
    acceptance.begin()
    assert acceptance.of(HIGH) == pytest.approx(0.75, abs=0.05)


def test_a_share_stays_what_it_is_however_long_it_is_tested() -> None:
    acceptance = taught(2000, 2000)
    acceptance.begin()
    assert acceptance.of(HIGH) == pytest.approx(0.5, abs=0.03)


def test_the_mean_of_a_source_that_is_never_right_starts_low() -> None:
    acceptance = taught(0, 40)
    acceptance.begin()
    acceptance.saw(START, HIGH, 4)
    assert acceptance.after(Evidence("model", 7, 0.9), 4) < 0.4 * EXPECTED[4]
