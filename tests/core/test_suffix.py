"""Where the end of a text stood before, and what followed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from specdesk.core.drafters.suffix import LENGTHS, MOST, Match, SuffixDrafter, SuffixIndex, evidence_of
from specdesk.core.law import Law
from specdesk.core.sampling import Sampling
from tests.toy.models import TableConstraint

LAW = Law(Sampling(0.0))


def index(text: Sequence[int]) -> SuffixIndex:
    made = SuffixIndex()
    made.extend(text)
    return made


def longest(text: Sequence[int]) -> int:
    """Tokens at the end of the text that stood before, with something behind them; by trying every place."""
    best = 0
    for at in range(1, len(text)):
        n = 0
        while n < at and text[at - 1 - n] == text[-1 - n]:
            n += 1
        best = max(best, n)
    return best


@pytest.mark.parametrize("n_vocab", [2, 3, 8, 40])
@pytest.mark.parametrize("seed", range(4))
def test_the_longest_indexed_stretch_is_found(n_vocab: int, seed: int) -> None:
    text = np.random.default_rng([n_vocab, seed]).integers(n_vocab, size=300).tolist()
    made = SuffixIndex()
    for n in range(1, len(text) + 1):
        made.extend(text[n - 1 : n])
        found, there = made.match(), longest(text[:n])
        wanted = next((length for length in LENGTHS if length <= there), 0)
        if wanted == 0:
            assert found is None
        else:
            assert found is not None
            assert wanted <= found.length <= there
            assert text[found.at - found.length : found.at] == text[n - found.length : n]


def test_the_latest_place_wins() -> None:
    assert index([5, 6, 1, 0, 5, 6, 2, 9, 5, 6]).match() == Match(at=6, length=2, agreed=0)


def test_a_stretch_that_went_on_alike_before_is_surer() -> None:
    assert index([5, 6, 1, 0, 5, 6, 1, 9, 5, 6]).match() == Match(at=6, length=2, agreed=1)
    assert index([5, 6, 1, 0, 5, 6, 1, 9, 5, 6, 1, 4, 5, 6, 1, 3, 5, 6]).match() == Match(at=14, length=2, agreed=2)
    assert index([5, 6, 1, 0, 5, 6, 1, 9, 5, 6, 2, 4, 5, 6]).match() == Match(at=10, length=2, agreed=0)


def test_a_match_is_measured_beyond_what_is_indexed() -> None:
    text = list(range(40))
    for length, measured in ((20, 20), (31, 31), (40, 32)):
        found = index([99, *text[-length:], 98, 97, *text[-length:]]).match()
        assert found is not None
        assert found.length == measured


def test_equal_hashes_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specdesk.core.drafters.suffix.hash", lambda _: 7, raising=False)
    made = index([1, 2, 3, 4, 9, 8])
    assert made.match() is None


def test_what_follows() -> None:
    made = index([1, 2, 3, 4, 5, 1, 2])
    assert made.following(2, 3) == [3, 4, 5]


def test_a_repetition_goes_on() -> None:
    made = index([7, 1, 2, 3, 1, 2, 3, 1, 2])
    found = made.match()
    assert found is not None
    assert made.following(found.at, 7) == [3, 1, 2, 3, 1, 2, 3]


def test_a_text_with_nothing_in_it_twice_offers_nothing() -> None:
    drafter = SuffixDrafter()
    drafter.begin([1, 2, 3], LAW)
    assert drafter.prospect([1, 2, 3]) is None
    assert list(drafter.propose([1, 2, 3], lambda q, *_: int(q.ids[0]))) == []


def test_it_proposes_what_it_offered() -> None:
    text = [1, 2, 3, 4, 5, 1, 2]
    drafter = SuffixDrafter()
    drafter.begin(text, LAW)
    prospect = drafter.prospect(text)
    assert prospect is not None
    assert (prospect.most, prospect.n_unread) == (MOST, 0)
    drafts = list(drafter.propose(text, lambda q, *_: int(q.ids[0])))
    assert [draft.token for draft in drafts[:3]] == [3, 4, 5]
    assert tuple(draft.evidence for draft in drafts) == prospect.known
    assert all(draft.q.prob(draft.token) == 1.0 for draft in drafts)


def test_nothing_more_is_proposed_once_no_more_is_wanted() -> None:
    text = [1, 2, 3, 4, 5, 1, 2]
    drafter = SuffixDrafter()
    drafter.begin(text, LAW)
    drafter.prospect(text)
    assert len(list(drafter.propose(text, lambda q, i, _: int(q.ids[0]) if i < 2 else None))) == 2


def test_another_history_is_indexed_anew() -> None:
    drafter = SuffixDrafter()
    drafter.begin([1, 2, 3, 1, 2], LAW)
    assert drafter.prospect([1, 2, 3, 1, 2]) is not None
    drafter.begin([1, 2, 4, 9], LAW)
    assert drafter.prospect([1, 2, 4, 9]) is None
    drafter.begin([1, 2, 4, 9, 1, 2], LAW)
    drafter.prospect([1, 2, 4, 9, 1, 2])
    [first, *_] = drafter.propose([1, 2, 4, 9, 1, 2], lambda q, *_: int(q.ids[0]))
    assert first.token == 4


def test_what_a_constraint_forbids_is_not_proposed() -> None:
    text = [9, 0, 1, 2, 0, 1]
    drafter = SuffixDrafter()
    law = Law(Sampling(0.0), TableConstraint({-1: (0,), 0: (1,), 1: (2, 0), 2: (1,), 9: ()}), answer_start=4)
    drafter.begin(text, law)
    drafter.prospect(text)
    assert [draft.token for draft in drafter.propose(text, lambda q, *_: int(q.ids[0]))] == [2]


def hindsight(prompt: list[int], answer: list[int]) -> list[tuple[int, bool]]:
    """Levels and verdicts for an answer that is written token by token, nothing being proposed."""
    drafter = SuffixDrafter()
    drafter.begin(prompt, LAW)
    text, found = list(prompt), []
    for token in answer:
        text.append(token)
        drafter.settle(len(text) - 1)
        found += [(evidence.level, right) for evidence, right in drafter.hindsight(text)]
    return found


def test_it_tells_afterwards_what_it_would_have_been_right_about() -> None:
    def level(length: int) -> int:
        return evidence_of(length, 0).level

    # The prompt is no answer; 1, 2 went on with 3, 4 before.
    assert hindsight([1, 2, 3, 4, 8, 7], [1, 2]) == []
    assert hindsight([1, 2, 3, 4, 8, 7], [1, 2, 3, 9]) == [(level(2), True), (level(3), False)]


@pytest.mark.parametrize("seed", range(5))
def test_what_it_tells_afterwards_is_what_it_would_have_said(seed: int) -> None:
    text = np.random.default_rng(seed).integers(3, size=60).tolist()
    drafter = SuffixDrafter()
    drafter.begin(text[:20], LAW)
    wanted = []
    for n in range(20, 60):
        asked = SuffixDrafter()
        asked.begin(text[:n], LAW)
        if (prospect := asked.prospect(text[:n])) is not None:
            [first, *_] = asked.propose(text[:n], lambda q, *_: int(q.ids[0]))
            wanted.append((prospect.start, first.token == text[n]))
    assert drafter.hindsight(text) == wanted


@pytest.mark.parametrize(("n_stood", "n_told"), [(1, 0), (3, 1)], ids=["rejected", "all stood"])
def test_of_what_was_proposed_it_tells_nothing(n_stood: int, n_told: int) -> None:
    text = [1, 2, 3, 4, 5, 6, 7, 8, 1, 2]
    drafter = SuffixDrafter()
    drafter.begin(text, LAW)
    drafter.prospect(text)
    drafts = list(drafter.propose(text, lambda q, i, _: int(q.ids[0]) if i < 3 else None))
    text += [*(draft.token for draft in drafts[:n_stood]), 6 if n_stood == 3 else 9]
    drafter.settle(len(text) - 1)
    assert len(drafter.hindsight(text)) == n_told
    # What it proposed further on and the answer never took is no longer in the way.
    text += [1, 2, 3]
    drafter.settle(len(text) - 1)
    assert [right for _, right in drafter.hindsight(text)][-1:] == [True]


def test_longer_and_steadier_matches_are_surer() -> None:
    lengths, agreements = (2, 3, 5, 9, 20, 40), range(3)
    table = np.array([[evidence_of(length, agreed).guess for agreed in agreements] for length in lengths])
    assert (np.diff(table, axis=0) > 0).all()
    assert (np.diff(table, axis=1) > 0).all()
    assert table.min() > 0
    assert table.max() < 1
