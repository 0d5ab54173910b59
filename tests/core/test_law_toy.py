"""The joint law of three tokens on toy models, and the faults that must break it.

Each answer is decoded from a prompt of one token; the law is known by enumeration. Seeds are fixed, so a passing test
passes always; for a fresh seed each correct case would fail with probability 1e-6.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from specdesk.core import decode as decode_module
from specdesk.core import rules, verify
from specdesk.core.chance import Chance, GumbelNoise
from specdesk.core.decode import Task
from specdesk.core.drafters import model as drafter_module
from specdesk.core.drafters.model import ModelDrafter
from specdesk.core.drafters.protocol import Drafter, Draw
from specdesk.core.names import RuleName
from specdesk.core.sampling import Sampling
from specdesk.core.verify import DraftToken, TargetAt, Verdict, rejection
from specdesk.core.warp import Distribution, warp
from tests.law import joint_law_p_value
from tests.toy.drafters import SURE
from tests.toy.models import ToyLM, events, joint_law, random_logits, written

N = 20_000
N_FAULT = 5_000
ALARM = 1e-6
PROMPT = (1,)
WARPED = Sampling(0.7, 3, 0.9, 0.05)
OPEN = Sampling(1.0, 0, 1.0, 0.0)


def models() -> tuple[ToyLM, ToyLM]:
    return ToyLM(random_logits(4, 7), 4), ToyLM(random_logits(4, 7, noise=0.8), 4)


def p_value(sampling: Sampling, k: int, *, n: int = N, rule: RuleName = RuleName.REJECTION) -> float:
    target, draft = models()
    rng = np.random.default_rng(11)
    task = Task(PROMPT, sampling, max_tokens=4)
    # The fourth token keeps the limit from shortening the drafts of the third.
    samples = [
        tuple(token.id for token in written(events(task, target, draft, k, seed=rng, rule=rule))[:3]) for _ in range(n)
    ]
    return joint_law_p_value(samples, joint_law(target, PROMPT, sampling, 3))


def test_greedy_writes_the_target_s_own_path() -> None:
    target, draft = models()
    path = list(PROMPT)
    for _ in range(20):
        path.append(int(np.argmax(target.logits(path))))
    for k in range(6):
        task = Task(PROMPT, Sampling(0.0), max_tokens=20)
        assert [token.id for token in written(events(task, target, draft, k))] == path[1:]


class TestFaultsAreCaught:
    """Each breaks the algorithm in one place. The law test must see it."""

    @pytest.mark.parametrize("rule", [RuleName.REJECTION, RuleName.BLOCK])
    def test_residual_replaced_by_the_target(self, monkeypatch: pytest.MonkeyPatch, rule: RuleName) -> None:
        monkeypatch.setattr(verify, "residual", lambda p, q, weight=1.0: p)
        assert p_value(OPEN, 2, n=N_FAULT, rule=rule) < ALARM

    def test_residual_not_cut_at_zero(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def absolute(p: Distribution, q: Distribution, weight: float = 1.0) -> Distribution:
            excess = np.abs(p.probs - q.probs_of(p.ids))
            return Distribution(p.ids, excess / excess.sum())

        monkeypatch.setattr(verify, "residual", absolute)
        assert p_value(OPEN, 2, n=N_FAULT) < ALARM

    @pytest.mark.parametrize("fault", ["accept all", "accept with p", "ratio upside down"])
    def test_acceptance_ratio(self, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
        def broken(drafts: Sequence[DraftToken], target_at: TargetAt, chance: Chance) -> Verdict:
            for position, draft in enumerate(drafts):
                p, q = target_at(position).prob(draft.token), draft.q.prob(draft.token)
                ratio = {"accept all": 1.0, "accept with p": p, "ratio upside down": q / p if p else 0.0}[fault]
                if not chance.happens(ratio):
                    rest = verify.residual(target_at(position), draft.q)
                    kept = tuple(verify.TestedToken(d.token, 0, 0, accepted=True) for d in drafts[:position])
                    return Verdict((*kept, verify.TestedToken(draft.token, p, q, accepted=False)), chance.draw(rest), 0)
            kept = tuple(verify.TestedToken(d.token, 0, 0, accepted=True) for d in drafts)
            return Verdict(kept, chance.draw(target_at(len(drafts))), 0)

        monkeypatch.setattr(rules, "rejection", broken)
        assert p_value(OPEN, 2, n=N_FAULT) < ALARM

    def test_bonus_row_not_warped(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(drafts: Sequence[DraftToken], target_at: TargetAt, chance: Chance) -> Verdict:
            verdict = rejection(drafts, target_at, chance)
            if verdict.rejected or not drafts:
                return verdict
            return Verdict(verdict.tests, chance.draw(unwarped), 0)

        target, _ = models()
        unwarped = warp(target.logits(PROMPT), OPEN)
        monkeypatch.setattr(rules, "rejection", broken)
        assert p_value(WARPED, 1, n=N_FAULT) < ALARM

    def test_q_of_another_temperature(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def propose(self: ModelDrafter, committed: Sequence[int], draw: Draw) -> Iterator[DraftToken]:
            feed = list(committed[len(self._lm.ids) :])
            for index in range(self._lm.n_ctx - len(committed)):
                row = self._lm.extend(feed, 1)[0]
                token = draw(warp(row, OPEN), index, SURE)
                assert token is not None
                yield DraftToken(token, warp(row, Sampling(0.4, 0, 1.0, 0.0)))
                feed = [token]

        monkeypatch.setattr(drafter_module.ModelDrafter, "propose", propose)
        assert p_value(OPEN, 2, n=N_FAULT) < ALARM

    def test_a_drawn_token_dropped_because_of_what_it_is(self, monkeypatch: pytest.MonkeyPatch) -> None:
        propose = ModelDrafter.propose

        def picky(self: ModelDrafter, committed: Sequence[int], draw: Draw) -> Iterator[DraftToken]:
            for draft in propose(self, committed, draw):
                if draft.q.prob(draft.token) < 0.4:
                    return
                yield draft

        monkeypatch.setattr(drafter_module.ModelDrafter, "propose", picky)
        assert p_value(OPEN, 2, n=N_FAULT) < ALARM

    def test_cut_back_off_by_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The cache keeps a rejected token where its replacement should be read."""
        cut_back = decode_module._cut_back

        def late(target: ToyLM, drafters: Sequence[Drafter], length: int) -> None:
            ids = list(target.ids)
            cut_back(target, drafters, length)
            if len(ids) > length > len(PROMPT):
                target._ids[-1] = ids[length]

        monkeypatch.setattr(decode_module, "_cut_back", late)
        assert p_value(OPEN, 2, n=N_FAULT) < ALARM

    def test_block_coin_that_is_the_weight_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(verify, "_stands", lambda weight, length, drafts, target_at: weight)
        assert p_value(OPEN, 3, n=N_FAULT, rule=RuleName.BLOCK) < ALARM

    def test_gumbel_noise_used_twice(self, monkeypatch: pytest.MonkeyPatch) -> None:
        at = GumbelNoise.at
        monkeypatch.setattr(GumbelNoise, "at", lambda self, position, ids: at(self, 0, ids))
        assert p_value(OPEN, 2, n=N_FAULT, rule=RuleName.COUPLED) < ALARM
