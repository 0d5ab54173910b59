"""The lookahead that pays: simulated answers in which every cost and every chance of acceptance is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from specdesk.core.acceptance import Acceptance, Evidence, start_of
from specdesk.core.adaptive import AdaptiveLookahead
from specdesk.core.costs import Costs, PairCosts
from specdesk.core.drafters.protocol import Draw, Prospect
from specdesk.core.events import AnswerToken, DraftedToken, Outcome, Source, Step
from specdesk.core.law import Law
from specdesk.core.lookahead import MOST_ADAPTIVE, Lookahead
from specdesk.core.verify import DraftToken
from specdesk.core.warp import certain
from tests.toy.costs import costs, flat

SURE = Evidence("model", 1, 0.95)
UNSURE = Evidence("model", 0, 0.4)
START = start_of("model")
Offer = Callable[[int], tuple[Evidence, float]]
"""What a draft model offers at a position of the answer, and the chance that it stands."""


class Named:
    """A drafter by name alone: what it would propose is simulated."""

    def __init__(self, name: str) -> None:
        self.name = name

    def begin(self, committed: Sequence[int], law: Law) -> None: ...

    def prospect(self, committed: Sequence[int]) -> Prospect | None: ...

    def propose(self, committed: Sequence[int], draw: Draw) -> Iterator[DraftToken]:
        return iter(())

    def hindsight(self, committed: Sequence[int]) -> Sequence[tuple[Evidence, bool]]:
        return ()

    def settle(self, length: int) -> None: ...


MODEL, SUFFIX = Named("model"), Named("suffix")


@dataclass
class Run:
    """A simulated answer: what it took in plain tokens' time, and the tokens of each draft."""

    seconds: float
    drafted: list[int]
    n_asked: int

    @property
    def mean_k(self) -> float:
        return sum(self.drafted) / len(self.drafted)


def answer(
    here: Costs,
    offer: Offer,
    n: int = 160,
    *,
    n_prompt: int = 20,
    lookahead: Lookahead | None = None,
    seed: int = 0,
    drawn: Evidence | None = None,
) -> Run:
    """Write n tokens with a draft model that makes these offers, whose cache holds nothing at first.

    What it draws is as sure as the offer, or as `drawn` says.
    """
    lookahead = lookahead or AdaptiveLookahead(MOST_ADAPTIVE, here, Acceptance())
    luck = np.random.default_rng(seed).random(n)
    run = Run(0.0, [], 0)
    written, n_read = 0, 0
    while written < n:
        depth = n_prompt + written
        prospect = Prospect(1000, START, n_unread=depth - n_read)
        plan = lookahead.plan(depth, n - written - 1, {MODEL: prospect})
        stood: list[bool] = []
        if plan.n_draft:
            run.n_asked += 1
            run.seconds += here.draft_s(depth - n_read, depth)
            n_read = depth
            while True:
                evidence, chance = offer(written + len(stood))
                if not lookahead.takes(evidence):
                    break
                stood.append(bool(luck[written + len(stood)] < chance))
                if not lookahead.goes_on(DraftToken(0, certain(0), drawn or evidence)) or len(stood) == plan.n_draft:
                    break
                run.seconds += here.draft_s(1, depth)
        n_accepted = next((i for i, one in enumerate(stood) if not one), len(stood))
        run.seconds += here.target_s(1 + len(stood), depth)
        run.drafted.append(len(stood))
        lookahead.learn(step(stood, n_accepted), ())
        written += n_accepted + 1
        n_read = min(n_read + max(0, len(stood) - 1), n_prompt + written - 1)
    return run


def step(stood: Sequence[bool], n_accepted: int, lead: float = 6.0) -> Step:
    """A step in a text where the target's highest logit leads by `lead`."""
    outcomes = [
        Outcome.ACCEPTED if i < n_accepted else Outcome.REJECTED if i == n_accepted else Outcome.IGNORED
        for i in range(len(stood))
    ]
    return Step(
        index=0,
        lookahead=len(stood),
        reason="",
        drafter="model" if stood else None,
        parity="",
        drafted=tuple(DraftedToken(0, "", 1.0, 1.0, outcome) for outcome in outcomes),
        tokens=tuple(AnswerToken(0, "", Source.PLAIN, 1.0, lead=lead) for _ in range(n_accepted + 1)),
        deltas=(),
        draft_s=0.0,
        target_s=0.0,
        step_s=0.0,
    )


def always(evidence: Evidence, chance: float) -> Offer:
    return lambda _: (evidence, chance)


def test_where_wide_passes_are_cheap_a_good_draft_is_used_at_length() -> None:
    run = answer(costs(0.05, 0.05), always(SURE, 0.98))
    assert run.seconds < 160 / 3
    assert run.mean_k > 6


def test_easy_text_gets_longer_drafts_than_hard_text() -> None:
    easy, hard = (answer(costs(0.1, 0.05), always(e, c)) for e, c in ((SURE, 0.95), (UNSURE, 0.4)))
    assert easy.mean_k > 2 * hard.mean_k


@pytest.mark.parametrize("chance", [0.5, 0.8, 0.95])
def test_within_a_tenth_of_the_best_fixed_length(chance: float) -> None:
    from specdesk.core.lookahead import FixedLookahead

    def total(make: Callable[[], Lookahead]) -> float:
        return sum(answer(here, always(SURE, chance), lookahead=make(), seed=seed).seconds for seed in range(6))

    here = costs(0.15, 0.08)
    best = min(total(lambda k=k: FixedLookahead(k)) for k in range(9))  # type: ignore[misc]
    assert total(lambda: AdaptiveLookahead(MOST_ADAPTIVE, here, Acceptance())) < 1.1 * best


def test_a_draft_as_large_as_the_target_is_not_touched() -> None:
    run = answer(costs(0.3, 1.0), always(SURE, 0.98))
    assert run.n_asked == 0
    assert run.seconds == pytest.approx(160)


def test_where_every_token_of_a_pass_costs_as_much_as_a_pass_nothing_is_drafted() -> None:
    assert answer(costs(0.9, 0.2), always(SURE, 0.98)).n_asked == 0


@pytest.mark.parametrize("guess", [SURE, UNSURE], ids=["that thinks itself sure", "that does not"])
def test_a_useless_draft_costs_little(guess: Evidence) -> None:
    run = answer(costs(0.15, 0.1, read_s=0.03), always(guess, 0.0))
    assert run.seconds < 1.05 * 160


def test_a_useless_draft_whose_offers_are_never_tested_themselves_costs_little() -> None:
    """When sampling it is what was drawn that is tested, and a place in the pass may be almost free."""
    run = answer(costs(0.09, 0.02), always(UNSURE, 0.0), drawn=Evidence("model", 20, 0.3))
    assert run.seconds < 1.05 * 160


def test_an_unsure_token_is_left_out_where_a_wider_pass_is_dear() -> None:
    """Every other token is unsure: it ends the draft before it, not behind it."""
    run = answer(costs(0.5, 0.02), lambda at: (SURE, 1.0) if at % 6 else (UNSURE, 0.1))
    assert run.seconds < 0.75 * 160


def test_a_long_prompt_is_not_read_for_a_short_answer() -> None:
    offer, here = always(SURE, 0.9), costs(0.1, 0.1, read_s=0.05)
    assert answer(here, offer, 16, n_prompt=2000).n_asked == 0
    assert answer(here, offer, 400, n_prompt=40).n_asked > 0


def test_what_is_left_of_an_answer_decides_whether_a_prompt_is_read() -> None:
    """100 unread tokens take some 5 seconds: too much for 4 tokens, little for 128. 2,000 take 100 seconds."""

    def asked(room: int, n_unread: int, n_written: int = 0) -> bool:
        lookahead = AdaptiveLookahead(MOST_ADAPTIVE, costs(0.1, 0.1, read_s=0.05), Acceptance())
        for _ in range(n_written // 10):
            lookahead.learn(step([True] * 9, 9), ())
        prospect = Prospect(1000, START, n_unread=n_unread)
        return lookahead.plan(n_unread, room, {MODEL: prospect}).n_draft > 0

    assert asked(200, 100)
    assert not asked(3, 100)
    assert not asked(5000, 2000)
    assert asked(5000, 2000, n_written=2000)


def test_a_few_unread_tokens_are_part_of_the_step() -> None:
    for n_unread, asked in ((1, True), (4, False)):
        lookahead = AdaptiveLookahead(MOST_ADAPTIVE, costs(0.1, 0.05, read_s=1.0), Acceptance())
        prospect = Prospect(1000, START, n_unread=n_unread)
        assert (lookahead.plan(100, 100, {MODEL: prospect}).n_draft > 0) is asked


def begun(
    n_unread: int = 1, known: tuple[Evidence, ...] = (), most: int = 1000
) -> tuple[AdaptiveLookahead, Acceptance]:
    """Planned with a draft, and what it learns."""
    acceptance = Acceptance()
    lookahead = AdaptiveLookahead(MOST_ADAPTIVE, costs(0.2, 0.02), acceptance)
    prospect = Prospect(most, START, known, n_unread=n_unread)
    assert 0 < lookahead.plan(10, 100, {MODEL: prospect}).n_draft <= most
    return lookahead, acceptance


def put_in(lookahead: AdaptiveLookahead, evidence: Evidence) -> bool:
    lookahead.takes(evidence)
    return lookahead.goes_on(DraftToken(0, certain(0), evidence))


def test_no_more_is_planned_than_the_drafter_has() -> None:
    begun(most=2)


def test_a_token_is_worth_its_place_only_if_all_before_it_stand() -> None:
    lookahead, _ = begun()
    assert lookahead.takes(SURE)
    for _ in range(3):
        goes_on = put_in(lookahead, UNSURE)
    assert not lookahead.takes(SURE)
    assert not goes_on


def test_each_offer_is_learned_behind_the_token_before_it() -> None:
    lookahead, acceptance = begun()
    put_in(lookahead, SURE)
    put_in(lookahead, UNSURE)
    assert [row[:2] for row in acceptance.state["follow"]] == [["model", -1], ["model", SURE.level]]


def test_behind_text_known_beforehand_without_a_model_nothing_goes_on() -> None:
    lookahead, _ = begun(n_unread=0, known=(SURE, SURE))
    assert put_in(lookahead, SURE)
    assert not put_in(lookahead, SURE)


def is_asked(lookahead: AdaptiveLookahead) -> bool:
    prospect = Prospect(1000, START, n_unread=1)
    return lookahead.plan(100, 100, {MODEL: prospect}).drafter is MODEL


def test_a_draft_is_asked_where_the_target_has_become_sure_and_no_more_where_it_is_not() -> None:
    """A draft step costs much here: it pays in an easy text only. No draft has to be tried to see it."""
    lookahead = AdaptiveLookahead(MOST_ADAPTIVE, costs(0.5, 0.3), Acceptance())
    seen = [is_asked(lookahead)]
    for lead in (9.0, 0.3, float("inf"), 0.0):
        for _ in range(8):
            lookahead.learn(step([], 0, lead), ())
        seen.append(is_asked(lookahead))
    assert seen == [False, True, False, True, False]


@pytest.mark.parametrize("seed", range(4))
def test_a_bad_start_does_not_have_a_good_draft_given_up_for_the_whole_answer(seed: int) -> None:
    """Two wrong tokens make it not worth asking here, and a draft that is not asked cannot do better."""
    offered, here = Evidence("model", 2, 0.8), costs(0.4, 0.25)
    lookahead = AdaptiveLookahead(MOST_ADAPTIVE, here, well_known())
    run = answer(here, lambda i: (offered, 0.0 if i < 20 else 0.95), lookahead=lookahead, seed=seed)
    assert sum(run.drafted[:30]) <= 2
    assert run.seconds < 150


def well_known() -> Acceptance:
    """What a draft taught whose tokens stood until now."""
    acceptance = Acceptance()
    for _ in range(60):
        acceptance.learn(Evidence("model", 3, 0.9), accepted=True)
    return acceptance


def test_what_is_offered_is_learned_for_texts_as_easy() -> None:
    lookahead, acceptance = begun()
    for _ in range(20):
        lookahead.learn(step([], 0, 3.5), ())
    assert is_asked(lookahead)
    lookahead.takes(SURE)
    assert [row[:2] for row in acceptance.state["offers"]] == [["model", 3]]


def test_a_new_answer_begins_in_good_faith() -> None:
    acceptance = well_known()
    acceptance.begin()
    for _ in range(5):
        acceptance.learn(SURE, accepted=False)
    before = acceptance.of(UNSURE)
    AdaptiveLookahead(MOST_ADAPTIVE, costs(0.1, 0.1), acceptance)
    assert before < 0.7 * acceptance.of(UNSURE)


def test_the_same_tokens_give_the_same_plans() -> None:
    offer = always(SURE, 0.8)
    assert answer(costs(0.1, 0.1), offer).drafted == answer(costs(0.1, 0.1), offer).drafted


def test_what_was_learned_in_one_answer_helps_the_next() -> None:
    known = Acceptance()
    here = costs(0.15, 0.1, read_s=0.03)
    runs = [answer(here, always(SURE, 0.0), lookahead=AdaptiveLookahead(MOST_ADAPTIVE, here, known)) for _ in range(3)]
    assert runs[-1].seconds <= runs[0].seconds
    assert runs[-1].seconds < 1.02 * 160


def test_the_room_is_respected() -> None:
    for room in (0, 1, 3):
        lookahead = AdaptiveLookahead(MOST_ADAPTIVE, costs(0.0, 0.01), Acceptance())
        plan = lookahead.plan(10, room, {MODEL: Prospect(1000, START, n_unread=1)})
        assert plan.n_draft == room


def test_known_tokens_are_taken_to_the_end_of_a_step_of_the_staircase() -> None:
    """Passes of 1 to 4 tokens cost 1 to 1.6 seconds, of 5 to 8 about 3."""
    stairs = Costs(PairCosts(flat([1.0, 1.5, 1.55, 1.6, 3.0, 3.1, 3.2, 3.3, 9.0], (1, 2, 3, 4, 5, 6, 7, 8, 32))))
    levels = [Evidence("suffix", level, 0.8) for level in range(8)]
    lookahead = AdaptiveLookahead(MOST_ADAPTIVE, stairs, Acceptance())
    plan = lookahead.plan(10, 100, {SUFFIX: Prospect(8, levels[0], tuple(levels))})
    assert (plan.drafter, plan.n_draft) == (SUFFIX, 3)


@pytest.mark.parametrize(("n_unread", "goes_on"), [(7, True), (2006, False)])
def test_behind_forced_text_a_long_prompt_is_not_read_for_nothing(n_unread: int, goes_on: bool) -> None:
    """The four forced tokens are drafted; whether the model goes on is weighed as if it began there."""
    forced = tuple(Evidence("grammar", 0, 0.95) for _ in range(4))
    lookahead = AdaptiveLookahead(MOST_ADAPTIVE, costs(0.1, 0.1, read_s=0.05), Acceptance())
    prospect = Prospect(1000, START, forced, n_unread=n_unread)
    plan = lookahead.plan(2002, 100, {MODEL: prospect})
    assert plan.drafter is MODEL
    assert (plan.n_draft > 4) is goes_on


def test_what_pays_more_is_chosen() -> None:
    model = Prospect(1000, START, n_unread=1)
    for chance, chosen in ((0.1, MODEL), (0.99, SUFFIX)):
        known = tuple(Evidence("suffix", level, chance) for level in range(8))
        lookahead = AdaptiveLookahead(MOST_ADAPTIVE, costs(0.1, 0.1), Acceptance())
        assert lookahead.plan(10, 100, {MODEL: model, SUFFIX: Prospect(8, known[0], known)}).drafter is chosen


def test_a_drafter_that_would_have_been_right_is_asked_and_one_that_would_have_been_wrong_no_more() -> None:
    unsure, sure = Evidence("suffix", 0, 0.3), Evidence("suffix", 1, 0.9)
    lookahead = AdaptiveLookahead(MOST_ADAPTIVE, costs(0.5, 0.1), Acceptance())

    def pays(evidence: Evidence) -> bool:
        prospect = Prospect(1, evidence, (evidence,))
        return lookahead.plan(10, 100, {SUFFIX: prospect}).drafter is SUFFIX

    assert (pays(unsure), pays(sure)) == (False, True)
    lookahead.learn(step([], 0), [(unsure, True)] * 20)
    assert pays(unsure)
    lookahead.learn(step([], 0), [(sure, False)] * 20)
    assert not pays(sure)


def test_a_plan_says_what_is_expected() -> None:
    lookahead = AdaptiveLookahead(MOST_ADAPTIVE, costs(0.05, 0.05), Acceptance())
    prospect = Prospect(1000, START, n_unread=1)
    assert lookahead.plan(10, 100, {MODEL: prospect}).reason.startswith("expected ")
    assert lookahead.plan(10, 100, {}).reason == "nothing to draft"
    dear = AdaptiveLookahead(MOST_ADAPTIVE, costs(1.0, 1.0), Acceptance())
    assert dear.plan(10, 100, {MODEL: prospect}).reason.startswith("no draft would pay: costs ")
    far = AdaptiveLookahead(MOST_ADAPTIVE, costs(0.1, 0.1, read_s=0.05), Acceptance())
    unread = Prospect(1000, START, n_unread=2000)
    reason = far.plan(2002, 10_000, {MODEL: unread}).reason
    assert reason.startswith("no draft would pay: the draft model would read for ")


@pytest.mark.parametrize("n_accepted", [0, 3, 7])
def test_what_was_tested_before_fades_by_the_tokens_of_a_step_and_what_it_tests_does_not(n_accepted: int) -> None:
    learned, expected = Acceptance(), Acceptance()
    lookahead = AdaptiveLookahead(MOST_ADAPTIVE, costs(0.1, 0.1), learned)
    lookahead.learn(step([], 0), [(SURE, False)] * 5)
    for _ in range(5):
        expected.learn(SURE, accepted=False)
    lookahead.learn(step([True] * n_accepted, n_accepted), [(SURE, False)])
    expected.wrote(n_accepted + 1)
    expected.learn(SURE, accepted=False)
    assert learned.of(UNSURE) == pytest.approx(expected.of(UNSURE), rel=1e-9)


def test_the_longer_an_answer_the_more_is_read_for_it() -> None:
    lookahead = AdaptiveLookahead(MOST_ADAPTIVE, costs(0.1, 0.1, read_s=0.05), Acceptance())

    def is_read() -> bool:
        return lookahead.plan(2002, 10_000, {MODEL: Prospect(1000, START, n_unread=2000)}).drafter is MODEL

    assert not is_read()
    for _ in range(1000):
        lookahead.learn(step([], 0), ())
    assert is_read()
