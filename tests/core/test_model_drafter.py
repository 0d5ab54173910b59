"""The draft model's side of a step: what its cache keeps, where it moves on, and how sure it says it is."""

from __future__ import annotations

import numpy as np
import pytest

from specdesk.core.candidates import lead
from specdesk.core.decode import Task
from specdesk.core.drafters.model import ModelDrafter
from specdesk.core.law import Law, UnusableDraftError
from specdesk.core.sampling import Sampling
from tests.toy.models import ToyLM, events, random_logits

GREEDY = Sampling(0.0)
OPEN = Sampling(1.0, 0, 1.0, 0.0)


def toy(n_ctx: int = 64) -> ToyLM:
    return ToyLM(random_logits(8, 3, scale=3.0), 8, n_ctx)


def test_a_new_answer_keeps_what_the_draft_has_read() -> None:
    target, draft = toy(), toy()
    list(events(Task([1, 2, 3, 4], GREEDY, 6), target, draft, 3))
    drafter = ModelDrafter(draft)
    drafter.begin([1, 2, 3, 5, 6], Law(GREEDY))
    assert list(draft.ids) == [1, 2, 3]


def test_drafting_goes_on_to_the_last_cell_of_the_draft() -> None:
    drafter = ModelDrafter(toy(n_ctx=8))
    drafter.begin([1, 2, 3, 4, 5], Law(GREEDY))
    prospect = drafter.prospect([1, 2, 3, 4, 5])
    assert prospect is not None
    assert (prospect.most, prospect.n_unread) == (4, 5)
    assert len(list(drafter.propose([1, 2, 3, 4, 5], lambda q, *_: int(q.ids[0])))) == 4


def test_a_draft_whose_context_is_full_goes_on_with_the_latter_half() -> None:
    drafter = ModelDrafter(lm := toy(n_ctx=8))
    text = [1, 2, 3, 4, 0, 1, 2, 3]
    drafter.begin(text, Law(GREEDY))
    prospect = drafter.prospect(text)
    assert prospect is not None
    assert (prospect.most, prospect.n_unread) == (5, 4)
    [first, *_] = drafter.propose(text, lambda q, *_: int(q.ids[0]))
    assert list(lm.ids[:4]) == text[4:]
    drafter.settle(len(text))
    assert list(lm.ids) == text[4:]
    longer = [*text, first.token]
    prospect = drafter.prospect(longer)
    assert prospect is not None
    assert (prospect.most, prospect.n_unread) == (4, 1)


def test_a_context_of_one_token_holds_the_last_one_of_the_text() -> None:
    drafter = ModelDrafter(lm := toy(n_ctx=1))
    drafter.begin([1, 2, 3], Law(GREEDY))
    for text in ([1, 2, 3], [1, 2, 3, 4]):
        prospect = drafter.prospect(text)
        assert prospect is not None
        assert (prospect.most, prospect.n_unread) == (1, 1)
        assert len(list(drafter.propose(text, lambda q, *_: int(q.ids[0])))) == 1
        assert list(lm.ids) == text[-1:]
        drafter.settle(len(text))


def test_unusable_logits_are_the_draft_s() -> None:
    drafter = ModelDrafter(ToyLM(lambda _: [1.0, float("nan")], 2))
    drafter.begin([1], Law(GREEDY))
    with pytest.raises(UnusableDraftError, match="unusable logits"):
        list(drafter.propose([1], lambda q, *_: int(q.ids[0])))


def test_what_is_unread_behind_a_moved_beginning_and_what_a_new_answer_keeps_of_it() -> None:
    drafter = ModelDrafter(lm := toy(n_ctx=8))
    text = [1, 2, 3, 4, 0, 1, 2]
    drafter.begin(text, Law(GREEDY))
    next(iter(drafter.propose(text, lambda q, *_: int(q.ids[0]))))
    longer = [*text, 3]
    prospect = drafter.prospect(longer)
    assert prospect is not None
    assert prospect.n_unread == 4
    next(iter(drafter.propose(longer, lambda q, *_: int(q.ids[0]))))
    drafter.begin([*longer, 5], Law(GREEDY))
    assert list(lm.ids) == longer[4:]


def test_an_answer_to_another_text_is_drafted_from_its_beginning_again() -> None:
    drafter = ModelDrafter(lm := toy(n_ctx=8))
    text = [1, 2, 3, 4, 0, 1, 2, 3]
    drafter.begin(text, Law(GREEDY))
    drafter.prospect(text)
    next(iter(drafter.propose(text, lambda q, *_: int(q.ids[0]))))
    drafter.begin([5, 6], Law(GREEDY))
    prospect = drafter.prospect([5, 6])
    assert prospect is not None
    assert (prospect.most, prospect.n_unread) == (7, 2)
    next(iter(drafter.propose([5, 6], lambda q, *_: int(q.ids[0]))))
    assert list(lm.ids) == [5, 6]


@pytest.mark.parametrize(("row", "ahead"), [([1, 5, 3], 2), ([3, 5, 1], 2), ([5, 1], 4), ([1, 5], 4), ([5, 5], 0)])
def test_the_lead_is_over_the_second_highest(row: list[float], ahead: float) -> None:
    assert lead(np.array(row, np.float32)) == ahead


def test_greedy_drafts_and_drawn_ones_are_judged_apart() -> None:
    starts = []
    for sampling in (GREEDY, OPEN):
        drafter = ModelDrafter(toy())
        drafter.begin([1, 2], Law(sampling))
        prospect = drafter.prospect([1, 2])
        assert prospect is not None
        starts.append(prospect.start)
    assert starts[0].source != starts[1].source
