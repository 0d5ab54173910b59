"""Drafts without banned tokens keep the target's law, at every temperature and under every rule.

Seeds are fixed, so a test that passes passes always; with a fresh seed each correct case would fail with probability
1e-6, and the fault is caught at the same bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from specdesk.core.candidates import Row
from specdesk.core.decode import Task
from specdesk.core.drafters.model import ModelDrafter
from specdesk.core.events import Step
from specdesk.core.lm import LanguageModel, Logits
from specdesk.core.names import RuleName
from specdesk.core.restricted import Restricted, without
from specdesk.core.sampling import Sampling
from specdesk.core.verify import DraftToken
from specdesk.core.warp import Distribution, warp
from tests.contracts import LanguageModelContract, MakeLM
from tests.law import joint_law_p_value
from tests.toy.models import ToyLM, events, joint_law, random_logits, remember_laws, written

N = 6_000
N_PADDED = 17_000
N_FAULT = 5_000
ALARM = 1e-6
PROMPT = (1,)
N_VOCAB = 4
HOT = Sampling(5.0, 0, 1.0, 0.0)
OPEN = Sampling(1.0, 0, 1.0, 0.0)
WARPED = Sampling(0.7, 3, 0.9, 0.05)


class TestRestrictedLM(LanguageModelContract):
    """With a ban that the contract's models never notice: of a token they do not have."""

    @pytest.fixture
    def make(self) -> MakeLM:
        return lambda n_ctx: Restricted(ToyLM(random_logits(7, 1), 7, n_ctx), [99], 7)


def target() -> ToyLM:
    return ToyLM(random_logits(N_VOCAB, 7), N_VOCAB)


def draft(n_padding: int = 0) -> ToyLM:
    """Nearly the target; its padding is likelier than all else."""
    known = random_logits(N_VOCAB, 7, noise=0.8)
    return ToyLM(lambda prefix: [*known(prefix), *[9.0] * n_padding], N_VOCAB + n_padding)


def samples(
    lm: LanguageModel, sampling: Sampling, k: int, rule: RuleName, n: int
) -> tuple[list[tuple[int, ...]], set[int]]:
    """What was written, three tokens each, and every token that was drafted."""
    rng = np.random.default_rng(11)
    task = Task(PROMPT, sampling, max_tokens=4)
    found, drafted = [], set()
    big = target()
    for _ in range(n):
        stream = list(events(task, big, lm, k, seed=rng, rule=rule))
        drafted |= {token.id for event in stream if isinstance(event, Step) for token in event.drafted}
        found.append(tuple(token.id for token in written(iter(stream))[:3]))
    return found, drafted


@pytest.mark.parametrize("rule", list(RuleName))
@pytest.mark.parametrize(("sampling", "banned"), [(HOT, (2,)), (WARPED, (0, 3))], ids=["hot", "warped"])
def test_three_tokens_follow_the_target(
    monkeypatch: pytest.MonkeyPatch, rule: RuleName, sampling: Sampling, banned: Sequence[int]
) -> None:
    remember_laws(monkeypatch, N_VOCAB)
    law = joint_law(target(), PROMPT, sampling, 3)
    found, drafted = samples(Restricted(draft(), banned, N_VOCAB), sampling, 3, rule, N)
    assert joint_law_p_value(found, law) > ALARM
    assert drafted == set(range(N_VOCAB)) - set(banned), "and the target writes the banned ones all the same"
    assert {token for tokens in found for token in tokens} == set(range(N_VOCAB))


def test_padding_of_the_draft_is_never_proposed_at_a_high_temperature(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than 50,000 tokens, in samples of three, with padding that weighs more than all tokens together."""
    remember_laws(monkeypatch, N_VOCAB + 2)
    padded = without(draft(n_padding=2), [N_VOCAB, N_VOCAB + 1], N_VOCAB)
    found, drafted = samples(padded, HOT, 3, RuleName.BLOCK, N_PADDED)
    assert drafted == set(range(N_VOCAB))
    assert sum(len(tokens) for tokens in found) > 50_000
    assert joint_law_p_value(found, joint_law(target(), PROMPT, HOT, 3)) > ALARM


def test_the_q_of_the_unrestricted_draft_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawn without the banned token, judged as if it could have been drawn: the law must see it."""
    whole = draft()
    propose = ModelDrafter.propose

    def broken(self: ModelDrafter, committed, draw):  # type: ignore[no-untyped-def]
        text = list(committed)
        for proposed in propose(self, committed, draw):
            row = whole.logits(text)
            weights = np.exp(row - row.max(), dtype=np.float64)
            yield DraftToken(proposed.token, Distribution(np.arange(N_VOCAB), weights / weights.sum()))
            text.append(proposed.token)

    monkeypatch.setattr(ModelDrafter, "propose", broken)
    found, _ = samples(Restricted(draft(), [2], N_VOCAB), OPEN, 2, RuleName.REJECTION, N_FAULT)
    assert joint_law_p_value(found, joint_law(target(), PROMPT, OPEN, 3)) < ALARM


def test_rows_are_a_copy_without_the_banned_tokens() -> None:
    lm = ToyLM(lambda _: [1.0, 2.0, 3.0, 4.0], 4)
    rows: Logits = Restricted(lm, [1, 3, 9], 3).extend([0, 1], 2)
    assert rows.tolist() == [[1.0, -np.inf, 3.0]] * 2
    assert lm.logits([0]).tolist() == [1.0, 2.0, 3.0, 4.0]


def test_the_model_s_own_rows_are_not_written_to() -> None:
    """They are llama.cpp's memory, and the same at each call."""

    class Same(ToyLM):
        rows = np.array([[1.0, 2.0, 3.0]], np.float32)

        def extend(self, ids: Sequence[int], n_rows: int) -> Logits:
            super().extend(ids, n_rows)
            return self.rows

    lm = Same(lambda _: [1.0, 2.0, 3.0], 3)
    assert Restricted(lm, [1], 3).extend([0], 1).tolist() == [[1.0, -np.inf, 3.0]]
    assert Same.rows.tolist() == [[1.0, 2.0, 3.0]]


def test_its_cache_can_be_cut_where_the_model_s_can() -> None:
    class Running(ToyLM):
        def cut_point(self, length: int) -> int:
            return length if length == len(self.ids) else 0

    lm = Restricted(Running(lambda _: [1.0, 2.0, 3.0], 3), [1], 3)
    lm.extend([0, 0, 0], 0)
    assert (lm.cut_point(3), lm.cut_point(2)) == (3, 0)


def test_one_banned_token_is_enough_to_restrict_a_model() -> None:
    lm = ToyLM(lambda _: [1.0, 2.0, 3.0], 3)
    assert without(lm, (), 3) is lm
    assert without(lm, (1,), 3).extend([0], 1).tolist() == [[1.0, -np.inf, 3.0]]


class Given(ToyLM):
    """The same row behind every text."""

    def __init__(self, row: Row) -> None:
        super().__init__(lambda _: row.tolist(), row.size)


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(0.0),
        Sampling(5.0, 0, 1.0, 0.0),
        Sampling(0.8, 3, 0.9, 0.05),
        Sampling(1.0, 0, 0.5, 0.0),
        Sampling(1.0, 0, 1.0, 0.3),
        replace(OPEN, typical_p=0.6),
        replace(OPEN, top_n_sigma=1.0),
        replace(OPEN, repeat_penalty=1.5, frequency_penalty=0.5, presence_penalty=-0.5),
        replace(OPEN, logit_bias=((3, 4.0), (5, -np.inf), (7, 2.0)), top_k=4),
        replace(OPEN, typical_p=0.7, top_n_sigma=1.5, repeat_penalty=1.3, samplers=tuple(reversed(OPEN.samplers))),
    ],
    ids=lambda sampling: "",
)
def test_q_is_what_the_sampling_makes_of_a_model_without_these_tokens(sampling: Sampling) -> None:
    """That of rows from which the banned columns are cut out, whatever the samplers."""
    rng = np.random.default_rng(3)
    n, banned = 40, [0, 3, 11, 12, 39]
    left = np.setdiff1d(np.arange(n), banned)
    place = {int(token): at for at, token in enumerate(left)}
    seen = [3, 7, 7, 20, 39]
    shrunk = replace(
        sampling, logit_bias=tuple((place[token], bias) for token, bias in sampling.logit_bias if token in place)
    )
    for _ in range(200):
        row = rng.normal(scale=3.0, size=n).astype(np.float32)
        row[banned] += np.float32(6.0)  # what is banned would mostly be the likeliest
        (restricted,) = Restricted(Given(row), banned, n).extend([1], 1)
        q = warp(restricted, sampling, sampling.seen(seen))
        expected = warp(row[left], shrunk, [place[token] for token in sampling.seen(seen) if token in place])
        assert left[expected.ids].tolist() == q.ids.tolist()
        np.testing.assert_allclose(q.probs, expected.probs, rtol=1e-9)


def test_nothing_left_to_propose_is_refused() -> None:
    with pytest.raises(ValueError, match="every token is banned"):
        Restricted(draft(), range(N_VOCAB), N_VOCAB)


def test_without_a_ban_the_model_stays_itself() -> None:
    lm = draft()
    assert without(lm, (), N_VOCAB) is lm
