"""The law of what a step writes, by enumerating every way chance can fall: equal to the target's to 1e-12.

Three tokens, draft and target with distributions that depend on the whole prefix. After the first step the answer is
continued plainly to three tokens, so that outcomes of different lengths are compared over the same space.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from specdesk.core import decode as decode_module
from specdesk.core import verify
from specdesk.core.acceptance import Acceptance, Evidence
from specdesk.core.adaptive import AdaptiveLookahead
from specdesk.core.constraint import Constraint, DeadEnd
from specdesk.core.decode import Task
from specdesk.core.drafters.forced import ForcedDrafter
from specdesk.core.drafters.model import ModelDrafter
from specdesk.core.drafters.protocol import Drafter, Draw
from specdesk.core.drafters.suffix import SuffixDrafter
from specdesk.core.events import Event, Outcome, Step
from specdesk.core.law import Law
from specdesk.core.lm import Logits, Vocabulary
from specdesk.core.lookahead import Lookahead
from specdesk.core.names import RuleName
from specdesk.core.rules import Rule
from specdesk.core.sampling import SamplerName, Sampling
from specdesk.core.target_pass import PassRows
from specdesk.core.verify import DraftToken
from specdesk.core.warp import Distribution, warp
from tests.toy.costs import costs
from tests.toy.drafters import OneHot
from tests.toy.enumeration import Path, every_path
from tests.toy.models import TableConstraint, ToyLM, events, joint_law, random_logits, written

V = 3
PROMPT = (1,)
N_TOKENS = 3
SAMPLINGS = {
    "open": Sampling(1.0, 0, 1.0, 0.0),
    "warped": Sampling(0.7, 2, 0.9, 0.05),
    "greedy": Sampling(0.0),
    "penalised": Sampling(
        1.0, 0, 1.0, 0.0, repeat_penalty=1.5, frequency_penalty=0.4, presence_penalty=0.3, repeat_last_n=2
    ),
    "all of it": Sampling(
        0.9, 2, 0.95, 0.02, 0.9, 2.0, 1.2, 0.1, 0.1, repeat_last_n=-1, logit_bias=((0, 0.5), (2, -0.25))
    ),
    "another order": Sampling(
        0.6, 2, 0.8, 0.3, repeat_penalty=1.4, presence_penalty=0.5, repeat_last_n=3,
        samplers=(SamplerName.TEMPERATURE, SamplerName.TOP_P, SamplerName.PENALTIES, SamplerName.MIN_P),
    ),
}  # fmt: skip


def target() -> ToyLM:
    return ToyLM(random_logits(V, 5), V)


CONSTRAINTS = {
    "none": None,
    "forced": TableConstraint({-1: (0, 2), 0: (1,), 1: (0, 1, 2), 2: (0, 2)}),
    "narrow": TableConstraint({-1: (1, 2), 0: (2,), 1: (0,), 2: (0, 1)}),
}


def lookup() -> OneHot:
    return OneHot(lambda text: (text[-1] * 2 + len(text)) % V)


class StopsByWhatItDrew(ModelDrafter):
    """Ends the draft after a token it was not sure of, and keeps that token."""

    def propose(self, committed: Sequence[int], draw: Draw) -> Iterator[DraftToken]:
        for draft in super().propose(committed, draw):
            yield draft
            if draft.q.prob(draft.token) < 0.45:
                return


class DropsWhatItDrew(ModelDrafter):
    """Ends the draft before a token it was not sure of: that token was drawn, and is dropped."""

    def propose(self, committed: Sequence[int], draw: Draw) -> Iterator[DraftToken]:
        for draft in super().propose(committed, draw):
            if draft.q.prob(draft.token) < 0.45:
                return
            yield draft


class ChoosesAfterDrawing(ModelDrafter):
    """Lets another drafter propose instead when it dislikes what it drew."""

    def propose(self, committed: Sequence[int], draw: Draw) -> Iterator[DraftToken]:
        first = next(super().propose(committed, draw))
        if first.q.prob(first.token) >= 0.45:
            yield first
        else:
            other = lookup()
            assert self._law is not None
            other.begin(committed, self._law)
            yield from other.propose(committed, draw)


def drafter(name: str, constraint: Constraint | None) -> Drafter | None:
    draft = ToyLM(random_logits(V, 5, noise=0.9), V)
    match name:
        case "model":
            return ModelDrafter(draft)
        case "stopping":
            return StopsByWhatItDrew(draft)
        case "dropping":
            return DropsWhatItDrew(draft)
        case "choosing late":
            return ChoosesAfterDrawing(draft)
        case "forced":
            assert constraint is not None
            return ForcedDrafter(constraint, ModelDrafter(draft))
        case "lookup":
            return lookup()
        case _:
            return None


def first_steps(name: str, task: Task, lm: ToyLM, k: int, rule: RuleName, path: Path) -> Iterator[Event]:
    """The answer by one drafter and K tokens, or by whichever pays and as many as pay."""
    if name != "auto":
        return events(task, lm, None, k, drafter=drafter(name, task.constraint), rule=rule, chance=path)
    lookahead = AdaptiveLookahead(k, costs(0.2, 0.05), Acceptance())
    both = [made for made in (drafter("model", None), SuffixDrafter()) if made is not None]
    return events(task, lm, None, k, drafters=both, lookahead=lookahead, rule=rule, chance=path)


def law(
    rule: RuleName, name: str, sampling: Sampling, k: int, constraint: Constraint | None = None
) -> tuple[dict[tuple[int, ...], float], float]:
    """The probability of every three tokens, and the tokens a first pass writes on average."""
    total: dict[tuple[int, ...], float] = defaultdict(float)
    first_pass = 0.0

    def run(path: Path) -> tuple[tuple[int, ...], int]:
        lm = target()
        task = Task(PROMPT, sampling, max_tokens=8, constraint=constraint)
        stream = first_steps(name, task, lm, k, rule, path)
        tokens: list[int] = []
        for event in stream:
            tokens.extend(token.id for token in written(iter([event])))
            if tokens:
                break
        n_first = len(tokens)
        rest = Task([*PROMPT, *tokens], sampling, max(1, N_TOKENS - n_first), n_written=n_first, constraint=constraint)
        if n_first < N_TOKENS:
            tokens.extend(token.id for token in written(events(rest, lm, None, 0, rule=rule, chance=path)))
        return tuple(tokens[:N_TOKENS]), n_first

    for (tokens, n_first), probability in every_path(run):
        total[tokens] += probability
        first_pass += n_first * probability
    return total, first_pass


@pytest.mark.parametrize("sampling", SAMPLINGS.values(), ids=SAMPLINGS.keys())
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("name", ["model", "stopping", "lookup", "auto", "none"])
@pytest.mark.parametrize("rule", [RuleName.REJECTION, RuleName.BLOCK])
def test_every_rule_with_every_drafter_writes_the_target_s_law(
    rule: RuleName, name: str, k: int, sampling: Sampling
) -> None:
    found, _ = law(rule, name, sampling, k)
    expected = joint_law(target(), PROMPT, sampling, N_TOKENS)
    assert sum(found.values()) == pytest.approx(1, abs=1e-12)
    assert {path: found[path] for path in expected} == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("sampling", [SAMPLINGS["open"], SAMPLINGS["all of it"]], ids=["open", "all of it"])
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("name", ["model", "stopping", "lookup", "forced", "auto", "none"])
@pytest.mark.parametrize("constraint", ["forced", "narrow"])
@pytest.mark.parametrize("rule", [RuleName.REJECTION, RuleName.BLOCK])
def test_the_same_under_a_constraint(rule: RuleName, constraint: str, name: str, k: int, sampling: Sampling) -> None:
    """Draft and target are masked alike, at each row by the draft tokens before it."""
    found, _ = law(rule, name, sampling, k, CONSTRAINTS[constraint])
    expected = joint_law(target(), PROMPT, sampling, N_TOKENS, CONSTRAINTS[constraint])
    assert sum(expected.values()) == pytest.approx(1, abs=1e-12)
    assert {path: found.get(path, 0.0) for path in expected} == pytest.approx(expected, abs=1e-12)


def test_what_pays_depends_on_what_was_drawn() -> None:
    """Else the tests with auto would say no more than those with a fixed length."""
    lengths: set[tuple[str | None, int]] = set()

    def run(path: Path) -> None:
        for prompt in ((1,), (0, 1, 2) * 6):
            task = Task(prompt, SAMPLINGS["open"], max_tokens=8)
            first = next(
                event
                for event in first_steps("auto", task, target(), 3, RuleName.BLOCK, path)
                if isinstance(event, Step)
            )
            lengths.add((first.drafter, len(first.drafted)))

    for _ in every_path(run):
        pass
    assert {length for name, length in lengths if name == "model"} >= {1, 2, 3}
    assert any(name == "suffix" for name, _ in lengths)


def test_forced_text_is_drafted_without_the_draft_model() -> None:
    """Behind a 0 only a 1 may come; the model drafts what follows it."""
    constraint = CONSTRAINTS["forced"]
    task = Task([0, 0], SAMPLINGS["greedy"], max_tokens=3, n_written=1, constraint=constraint)
    step = next(
        event
        for event in events(task, target(), None, 2, drafter=drafter("forced", task.constraint))
        if isinstance(event, Step)
    )
    assert step.drafter == "grammar and model"
    assert (step.drafted[0].id, step.drafted[0].q) == (1, 1.0)
    assert step.drafted[0].outcome is Outcome.ACCEPTED


@pytest.mark.parametrize("rule", [RuleName.REJECTION, RuleName.BLOCK])
@pytest.mark.parametrize("name", ["model", "lookup", "forced"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_a_dead_end_of_the_constraint_ends_only_answers_that_run_into_it(rule: RuleName, name: str, k: int) -> None:
    """Behind a 2 nothing is allowed. Drafts come there without harm, answers as often as plain decoding does."""
    dead = TableConstraint({-1: (0, 1), 0: (0, 1, 2), 1: (0, 2), 2: ()})
    sampling = SAMPLINGS["open"]

    def law_of(k: int, name: str) -> dict[tuple[int, ...], float]:
        total: dict[tuple[int, ...], float] = defaultdict(float)

        def run(path: Path) -> tuple[int, ...]:
            task = Task(PROMPT, sampling, N_TOKENS, constraint=dead)
            proposing = drafter(name, task.constraint)
            tokens: list[int] = []
            try:
                for event in events(task, target(), None, k, drafter=proposing, rule=rule, chance=path):
                    tokens += [token.id for token in written(iter([event]))]
            except DeadEnd:
                tokens.append(-1)
            return tuple(tokens)

        for tokens, probability in every_path(run):
            total[tokens] += probability
        return total

    plain = law_of(0, "none")
    assert plain[0, 2, -1] > 0
    found = law_of(k, name)
    assert set(found) == set(plain)
    assert {path: found[path] for path in plain} == pytest.approx(plain, abs=1e-12)


class Stateful:
    """A constraint that moves on with every token it is asked about, and never back: drafts leave their traces."""

    def __init__(self, table: TableConstraint) -> None:
        self._table = table
        self._read: list[int] = []

    def allowed(self, answer: Sequence[int], ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        self._read.extend(answer[len(self._read) :])
        return np.isin(ids, self._table._table[self._read[-1] if self._read else -1])

    def forced(self, answer: Sequence[int]) -> list[int]:
        return []


@pytest.mark.parametrize("rule", [RuleName.REJECTION, RuleName.BLOCK])
def test_a_grammar_s_state_that_is_not_rolled_back_is_seen(rule: RuleName) -> None:
    table = CONSTRAINTS["forced"]
    assert table is not None
    sampling = SAMPLINGS["open"]
    total: dict[tuple[int, ...], float] = defaultdict(float)

    def run(path: Path) -> tuple[int, ...]:
        task = Task(PROMPT, sampling, N_TOKENS, constraint=Stateful(table))
        stream = events(task, target(), None, 2, drafter=drafter("model", task.constraint), rule=rule, chance=path)
        return tuple(token.id for token in written(stream))

    for tokens, probability in every_path(run):
        total[tokens] += probability
    expected = joint_law(target(), PROMPT, sampling, N_TOKENS, table)
    assert max(abs(total[path] - p) for path, p in expected.items()) > 1e-3


@pytest.mark.parametrize("rule", [RuleName.REJECTION, RuleName.BLOCK])
def test_a_drafter_chosen_after_a_draw_is_seen(rule: RuleName) -> None:
    found, _ = law(rule, "choosing late", SAMPLINGS["open"], 2)
    expected = joint_law(target(), PROMPT, SAMPLINGS["open"], N_TOKENS)
    assert max(abs(found[path] - p) for path, p in expected.items()) > 1e-3


@pytest.mark.parametrize("name", ["model", "stopping", "lookup"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_block_rule_never_accepts_less(name: str, k: int) -> None:
    """And more, strictly, where a draft of several tokens may be wrong."""
    token, block = (law(rule, name, SAMPLINGS["open"], k)[1] for rule in (RuleName.REJECTION, RuleName.BLOCK))
    assert block >= token - 1e-12
    assert (block > token + 1e-3) == (k > 1 and name != "lookup")


@pytest.mark.parametrize("rule", [RuleName.REJECTION, RuleName.BLOCK])
def test_dropping_a_drawn_token_is_seen(rule: RuleName) -> None:
    found, _ = law(rule, "dropping", SAMPLINGS["open"], 2)
    expected = joint_law(target(), PROMPT, SAMPLINGS["open"], N_TOKENS)
    assert max(abs(found[path] - p) for path, p in expected.items()) > 1e-3


@pytest.mark.parametrize("rule", [RuleName.REJECTION, RuleName.BLOCK])
def test_taking_a_token_by_what_it_is_is_seen(rule: RuleName, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lookahead is asked before a token is drawn; asked afterwards, it would drop the ones it dislikes."""

    def late(
        rule: Rule, _: Lookahead, start: int, offers: list[Evidence], q: Distribution, index: int, *__: object
    ) -> int | None:
        token = rule.propose(q, start + index)
        return token if q.prob(token) >= 0.45 else None

    monkeypatch.setattr(decode_module, "_propose", late)
    found, _ = law(rule, "auto", SAMPLINGS["open"], 2)
    expected = joint_law(target(), PROMPT, SAMPLINGS["open"], N_TOKENS)
    assert max(abs(found[path] - p) for path, p in expected.items()) > 1e-3


def replaced(fault: str) -> Callable[[Distribution, Distribution, float], Distribution]:
    residual = verify.residual
    faults: dict[str, Callable[[Distribution, Distribution, float], Distribution]] = {
        "the target": lambda p, q, weight: p,
        "without the weight": lambda p, q, weight: residual(p, q),
        "not normalised": lambda p, q, weight: Distribution(
            p.ids, np.maximum(weight * p.probs - q.probs_of(p.ids), 0.0)
        ),
    }
    return faults[fault]


@pytest.mark.parametrize(
    ("rule", "fault"),
    [
        (RuleName.REJECTION, "the target"),
        (RuleName.REJECTION, "not normalised"),
        (RuleName.BLOCK, "the target"),
        (RuleName.BLOCK, "without the weight"),
        (RuleName.BLOCK, "not normalised"),
    ],
)
def test_a_wrong_residual_is_seen(monkeypatch: pytest.MonkeyPatch, rule: RuleName, fault: str) -> None:
    wrong = replaced(fault)
    monkeypatch.setattr(verify, "residual", lambda p, q, weight=1.0: wrong(p, q, weight))
    found, _ = law(rule, "model", SAMPLINGS["open"], 3)
    expected = joint_law(target(), PROMPT, SAMPLINGS["open"], N_TOKENS)
    assert max(abs(found[path] - p) for path, p in expected.items()) > 1e-4


@pytest.mark.parametrize("rule", [RuleName.REJECTION, RuleName.BLOCK])
@pytest.mark.parametrize("fault", ["drafts unseen", "drafts behind seen too"])
def test_penalties_from_another_text_are_seen(monkeypatch: pytest.MonkeyPatch, rule: RuleName, fault: str) -> None:
    sampling = SAMPLINGS["penalised"]
    expected = joint_law(target(), PROMPT, sampling, N_TOKENS)

    class Stale(PassRows):
        def __init__(
            self, rows: Logits, committed: list[int], drafts: list[DraftToken], law: Law, vocabulary: Vocabulary
        ) -> None:
            super().__init__(rows, committed, drafts, law, vocabulary)
            text = committed if fault == "drafts unseen" else [*committed, *(draft.token for draft in drafts)]
            self.stale: Callable[[int], Distribution] = lambda row: law.at(rows[row], text)

        def at(self, row: int) -> Distribution:
            return self.stale(row)

    monkeypatch.setattr(decode_module, "PassRows", Stale)
    found, _ = law(rule, "model", sampling, 2)
    assert max(abs(found[path] - p) for path, p in expected.items()) > 1e-3


def test_a_bonus_row_that_is_not_warped_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    class RawBonus(PassRows):
        def __init__(
            self, rows: Logits, committed: list[int], drafts: list[DraftToken], law: Law, vocabulary: Vocabulary
        ) -> None:
            super().__init__(rows, committed, drafts, law, vocabulary)
            self.bonus = len(drafts), warp(rows[len(drafts)], SAMPLINGS["open"])

        def at(self, row: int) -> Distribution:
            number, raw = self.bonus
            return raw if row == number else super().at(row)

    monkeypatch.setattr(decode_module, "PassRows", RawBonus)
    found, _ = law(RuleName.BLOCK, "model", SAMPLINGS["warped"], 1)
    expected = joint_law(target(), PROMPT, SAMPLINGS["warped"], N_TOKENS)
    assert max(abs(found.get(path, 0.0) - p) for path, p in expected.items()) > 1e-3
