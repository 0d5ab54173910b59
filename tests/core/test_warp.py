"""The warp chain, against distributions worked out by hand and against a slow, literal chain."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from specdesk.core.sampling import DEFAULT_SAMPLERS, SamplerName, Sampling
from specdesk.core.warp import Distribution, warp

OFF = Sampling(1.0, 0, 1.0, 0.0)
HALVES = np.log(np.array([0.5, 0.25, 0.15, 0.1], np.float32))


def dense(distribution: Distribution, n: int) -> NDArray[np.float64]:
    out = np.zeros(n)
    out[distribution.ids] = distribution.probs
    return out


def literal(logits: NDArray[np.float32], s: Sampling) -> NDArray[np.float64]:
    """The same chain with a full sort at every step, as llama.cpp's samplers are written."""
    x = logits.astype(np.float64)
    ids = np.argsort(-x, kind="stable")
    if s.top_k:
        ids = ids[: s.top_k]
    if s.top_p < 1:
        w = np.exp(x[ids] - x[ids[0]])
        cumulative = np.cumsum(w / w.sum())
        ids = ids[: int(np.argmax(cumulative >= s.top_p)) + 1] if (cumulative >= s.top_p).any() else ids
    if s.min_p > 0:
        ids = ids[x[ids] >= x[ids[0]] + math.log(s.min_p)]
    w = np.exp((x[ids] - x[ids[0]]) / s.temperature)
    out = np.zeros(x.size)
    out[ids] = w / w.sum()
    return out


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        (OFF, [0.5, 0.25, 0.15, 0.1]),
        (Sampling(1.0, 2, 1.0, 0.0), [2 / 3, 1 / 3, 0, 0]),
        (Sampling(1.0, 0, 0.7, 0.0), [2 / 3, 1 / 3, 0, 0]),
        (Sampling(1.0, 0, 0.76, 0.0), [0.5 / 0.9, 0.25 / 0.9, 0.15 / 0.9, 0]),
        (Sampling(1.0, 0, 1.0, 0.4), [2 / 3, 1 / 3, 0, 0]),
        (replace(OFF, temperature=0.5), [0.25 / 0.345, 0.0625 / 0.345, 0.0225 / 0.345, 0.01 / 0.345]),
        # Top-p looks at what top-k left, renormalised: 0.5 / 0.75 alone reaches 0.6.
        (Sampling(1.0, 2, 0.6, 0.0), [1, 0, 0, 0]),
        # Temperature comes last: at 5 the cut by min-p is still made at temperature 1.
        (Sampling(5.0, 0, 1.0, 0.4), [2**0.2 / (2**0.2 + 1), 1 / (2**0.2 + 1), 0, 0]),
        (Sampling(1.0, 1, 1.0, 0.0), [1, 0, 0, 0]),
        (replace(OFF, temperature=0.0), [1, 0, 0, 0]),
    ],
)
def test_by_hand(sampling: Sampling, expected: list[float]) -> None:
    assert dense(warp(HALVES, sampling), 4) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("n", [5, 63, 64, 1000, 5003])
@pytest.mark.parametrize("top_k", [0, 1, 7, 40, 400, 10_000])
@pytest.mark.parametrize(
    ("top_p", "min_p"), [(1.0, 0.0), (0.95, 0.05), (0.5, 0.0), (1.0, 0.3), (1e-9, 0.0), (0.999, 0.0)]
)
def test_equals_the_literal_chain(n: int, top_k: int, top_p: float, min_p: float) -> None:
    for seed, scale in ((1, 0.3), (2, 3.0), (3, 10.0)):
        logits = (np.random.default_rng(seed).normal(size=n) * scale).astype(np.float32)
        sampling = Sampling(0.8, top_k, top_p, min_p)
        assert dense(warp(logits, sampling), n) == pytest.approx(literal(logits, sampling), abs=1e-6)


def test_support_is_ascending_and_sums_to_one() -> None:
    logits = np.random.default_rng(5).normal(size=3000).astype(np.float32)
    for sampling in (Sampling(), OFF, Sampling(2.0, 0, 0.9, 0.0), Sampling(0.0)):
        distribution = warp(logits, sampling)
        assert (np.diff(distribution.ids) > 0).all()
        assert distribution.probs.sum() == pytest.approx(1, abs=1e-12)


def test_equal_logits_keep_the_lowest_ids() -> None:
    flat = np.zeros(200, np.float32)
    assert list(warp(flat, Sampling(1.0, 3, 1.0, 0.0)).ids) == [0, 1, 2]
    assert list(warp(flat, Sampling(0.0)).ids) == [0]


@pytest.mark.parametrize("temperature", [0.0, 1e-6, 0.01, 1.0, 5.0, 1e300])
@pytest.mark.parametrize("top_p", [1e-9, 1.0])
def test_extremes_stay_finite(temperature: float, top_p: float) -> None:
    logits = np.array([-1e38, -40.0, 0.0, 30.0, 1e38], np.float32)
    probs = warp(logits, Sampling(temperature, 0, top_p, 0.0)).probs
    assert np.isfinite(probs).all()
    assert probs.sum() == pytest.approx(1)


def test_minus_infinity_is_probability_zero() -> None:
    logits = np.array([-np.inf, 1.0, -np.inf, 1.0], np.float32)
    assert dense(warp(logits, OFF), 4) == pytest.approx([0, 0.5, 0, 0.5])


@pytest.mark.parametrize("bad", [[np.nan, 1.0], [np.inf, 1.0], [-np.inf, -np.inf]])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_unusable_logits_are_an_error(bad: list[float], temperature: float) -> None:
    with pytest.raises(FloatingPointError, match="unusable logits"):
        warp(np.array(bad, np.float32), Sampling(temperature))


@pytest.mark.parametrize(
    "bad",
    [
        {"temperature": -0.1}, {"temperature": math.nan}, {"temperature": math.inf},
        {"top_k": -1}, {"top_p": 0.0}, {"top_p": 1.1}, {"top_p": math.nan},
        {"min_p": -0.1}, {"min_p": 2.0}, {"min_p": math.nan},
    ],
)  # fmt: skip
def test_settings_out_of_range_are_named(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=str(next(iter(bad.values())))):
        Sampling(**bad)  # type: ignore[arg-type]


def test_logits_are_left_alone() -> None:
    logits = np.random.default_rng(1).normal(size=500).astype(np.float32)
    before = logits.copy()
    warp(logits, Sampling())
    assert (logits == before).all()


def test_min_p_of_one_keeps_all_that_are_likeliest() -> None:
    assert list(warp(np.array([1.0, 3.0, 3.0, 2.0], np.float32), Sampling(1.0, 0, 1.0, 1.0)).ids) == [1, 2]


def test_the_tiniest_temperature_is_greedy_and_quiet() -> None:
    assert list(warp(np.array([1.0, 3.0, 2.0], np.float32), Sampling(1e-310, 0, 1.0, 0.0)).probs) == [0, 1, 0]


def test_the_intervals_of_ahead_and_prob_partition_one() -> None:
    law = Distribution(np.array([2, 3, 5, 9]), np.array([0.2, 0.3, 0.3, 0.2]))
    q = Distribution(np.array([5, 9, 11]), np.array([0.2, 0.6, 0.2]))
    for before, order in ((law.ahead, (3, 5, 2, 9)), (partial(law.favoured, q=q), (9, 5, 2, 3))):
        intervals = [(before(token), before(token) + law.prob(token)) for token in order]
        assert intervals[0][0] == 0
        assert [end for _, end in intervals[:-1]] == pytest.approx([start for start, _ in intervals[1:]])
        assert intervals[-1][1] == pytest.approx(1)


def in_order(*names: SamplerName, **settings: float) -> Sampling:
    return replace(OFF, samplers=names, **settings)  # type: ignore[arg-type]


S = SamplerName


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        # At temperature 0.5 the first token has 0.25 of 0.345, and at 1 only half of all.
        (in_order(S.TEMPERATURE, S.TOP_P, temperature=0.5, top_p=0.7), [1, 0, 0, 0]),
        (in_order(S.TOP_P, S.TEMPERATURE, temperature=0.5, top_p=0.7), [0.8, 0.2, 0, 0]),
        # The second token is half as likely as the first, and a quarter as likely at temperature 0.5.
        (in_order(S.TEMPERATURE, S.MIN_P, temperature=0.5, min_p=0.4), [1, 0, 0, 0]),
        (in_order(S.MIN_P, S.TEMPERATURE, temperature=0.5, min_p=0.4), [0.8, 0.2, 0, 0]),
        # 0.5 of all is under 0.6, 0.5 of 0.75 is over it.
        (in_order(S.TOP_P, S.TOP_K, top_p=0.6, top_k=2), [2 / 3, 1 / 3, 0, 0]),
        (in_order(S.TOP_K, S.TOP_P, top_p=0.6, top_k=2), [1, 0, 0, 0]),
        (in_order(S.TEMPERATURE, S.TOP_K, S.TOP_P, temperature=0.0, top_k=3), [1, 0, 0, 0]),
        # What is left out is off, whatever it is set to.
        (in_order(temperature=0.0, top_k=1, top_p=0.1, min_p=1.0, typical_p=0.1), [0.5, 0.25, 0.15, 0.1]),
        (in_order(S.TOP_K, temperature=0.0, top_k=2), [2 / 3, 1 / 3, 0, 0]),
    ],
)  # fmt: skip
def test_another_order_by_hand(sampling: Sampling, expected: list[float]) -> None:
    assert dense(warp(HALVES, sampling), 4) == pytest.approx(expected, abs=1e-6)


def test_penalties_behind_others_move_what_those_left() -> None:
    """Two are left, 0.5 and 0.25; the first loses ln 4, which temperature 0.5 before it makes a factor of 4, not 16."""
    penalised = {"presence_penalty": math.log(4)}
    assert dense(warp(HALVES, in_order(S.TOP_K, S.PENALTIES, top_k=2, **penalised), [0]), 4) == pytest.approx(
        [1 / 3, 2 / 3, 0, 0], abs=1e-6
    )
    hot = in_order(S.TEMPERATURE, S.TOP_K, S.PENALTIES, temperature=0.5, top_k=2, **penalised)
    assert dense(warp(HALVES, hot, [0]), 4) == pytest.approx([0.5, 0.5, 0, 0], abs=1e-6)


@pytest.mark.parametrize(
    "order", ["penalties;temperature", "penalties;top_k;temperature", "top_k;penalties;temperature"]
)
def test_greedy_takes_the_highest_after_the_penalties(order: str) -> None:
    """Also where another sampler comes first: of three tokens two are left, and of those the first is penalised."""
    names = tuple(map(SamplerName, order.split(";")))
    sampling = Sampling(0.0, 2, presence_penalty=5.0, samplers=names)
    assert list(warp(np.array([3.0, 1.0, 2.0], np.float32), sampling, [0]).ids) == [2]


@pytest.mark.parametrize("temperature", [1e-310, 1e-6, 1e30])
@pytest.mark.parametrize("behind", [*SamplerName])
def test_extreme_temperatures_in_front_stay_finite(temperature: float, behind: SamplerName) -> None:
    sampling = replace(
        Sampling(temperature, 3, 0.5, 0.5, 0.5, 1.0, 1.5, 0.1, 0.1),
        samplers=tuple(dict.fromkeys((SamplerName.TEMPERATURE, behind, *SamplerName))),
    )
    for n in (5, 50_000):
        logits = (np.random.default_rng(3).normal(size=n) * 1e30).astype(np.float32)
        probs = warp(logits, sampling, [0, 1]).probs
        assert np.isfinite(probs).all()
        assert probs.sum() == pytest.approx(1)


def test_a_sampler_is_there_once_at_most() -> None:
    with pytest.raises(ValueError, match="not 2 times: top_k"):
        replace(OFF, samplers=(S.TOP_K, S.MIN_P, S.TOP_K))


def test_what_is_left_out_is_not_in_force() -> None:
    """The penalties then need no text, and the temperature is 1."""
    sampling = Sampling(0.5, repeat_penalty=1.5)
    without = replace(sampling, samplers=(S.TOP_K,))
    assert (sampling.window, sampling.seen([1, 2]), sampling.applied_temperature) == (64, [1, 2], 0.5)
    assert (without.window, without.seen([1, 2]), without.applied_temperature) == (0, (), 1.0)


def test_the_default_order_is_llama_cpp_s() -> None:
    assert ";".join(DEFAULT_SAMPLERS) == "penalties;top_n_sigma;top_k;typ_p;top_p;min_p;temperature"


def test_the_likeliest_come_in_order() -> None:
    law = Distribution(np.array([2, 3, 5, 9]), np.array([0.2, 0.3, 0.3, 0.2]))
    assert law.likeliest(3) == [(3, 0.3), (5, 0.3), (2, 0.2)]
    assert [token for token, _ in law.likeliest(9)] == [3, 5, 2, 9]
    assert law.likeliest(0) == []
