"""A constraint inside the warp chain: the result of masking the whole row, from few questions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from specdesk.core.constraint import DeadEnd
from specdesk.core.sampling import SamplerName, Sampling
from specdesk.core.warp import Distribution, warp

N = 6000
"""More than the chunks asked about one by one hold together, so that what is left is asked about too."""
SEEN = [5, 9, 9, 5998, 17]
BANNED = 1
SAMPLINGS = {
    "default": Sampling(),
    "greedy": Sampling(0.0),
    "greedy, typical": Sampling(0.0, typical_p=0.5),
    "top-k": Sampling(1.2, 40, 1.0, 0.0),
    "top-k of one": Sampling(1.0, 1, 1.0, 0.0),
    "top-p": Sampling(0.8, 0, 0.9, 0.0),
    "almost all": Sampling(1.0, 0, 0.99999, 0.0),
    "min-p": Sampling(0.8, 0, 1.0, 0.1),
    "top-p and min-p": Sampling(0.8, 0, 0.95, 0.05),
    "open": Sampling(1.0, 0, 1.0, 0.0),
    "typical": Sampling(0.8, typical_p=0.6),
    "top-n-sigma": Sampling(0.8, top_n_sigma=1.5),
    "penalties and bias": Sampling(
        0.8, repeat_penalty=1.5, presence_penalty=2.0, logit_bias=((3, 9.0), (BANNED, -float("inf")))
    ),
}
ORDERS = [
    "temperature;top_p;min_p",
    "temperature;min_p;top_k;penalties",
    "top_p;top_k;temperature",
    "min_p;top_p;typ_p",
    "top_p;penalties;top_k;temperature",
    "top_k;penalties;temperature",
    "penalties;temperature",
    "typ_p;top_k",
    "top_k;top_n_sigma;temperature;min_p",
]
CHAINS = {
    **SAMPLINGS,
    **{
        order: Sampling(0.7, 30, 0.9, 0.05, 0.7, 2.0, 1.3, 0.2, 0.3, samplers=tuple(map(SamplerName, order.split(";"))))
        for order in ORDERS
    },
}


class Mask:
    """Which tokens may come next, and which ones were asked about."""

    def __init__(self, allowed: NDArray[np.bool_]) -> None:
        self.allowed = allowed
        self.asked: list[int] = []

    def __call__(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        assert ids.size > 0
        self.asked.extend(ids.tolist())
        return self.allowed[ids]


def masks(logits: NDArray[np.float32], seed: int) -> dict[str, NDArray[np.bool_]]:
    rng = np.random.default_rng(seed)
    order = np.argsort(-logits, kind="stable")
    return {
        "all": np.ones(logits.size, bool),
        "half": rng.random(logits.size) < 0.5,
        "sparse": np.isin(np.arange(logits.size), rng.integers(0, logits.size, logits.size // 30)),
        "few": np.isin(np.arange(logits.size), rng.integers(0, logits.size, 5)),
        "all but the peak": np.arange(logits.size) != order[0],
        "one in the middle": np.arange(logits.size) == order[logits.size // 2],
        "one at the bottom": np.arange(logits.size) == order[-1],
        "first and last": np.isin(np.arange(logits.size), order[[0, -1]]),
        "the lower half": np.isin(np.arange(logits.size), order[logits.size // 2 :]),
    }


def masked(logits: NDArray[np.float32], mask: NDArray[np.bool_]) -> NDArray[np.float32]:
    return np.where(mask, logits, np.float32(-np.inf))


def assert_same(found: Distribution, expected: Distribution) -> None:
    assert list(found.ids) == list(expected.ids)
    assert np.abs(found.probs - expected.probs).max() < 1e-12


@pytest.mark.parametrize("sampling", CHAINS.values(), ids=CHAINS.keys())
@pytest.mark.parametrize(("seed", "scale", "n"), [(1, 0.1, N), (2, 1.0, N), (3, 4.0, N), (4, 3.0, 300), (5, 2.0, 40)])
def test_equals_masking_the_whole_row_first(sampling: Sampling, seed: int, scale: float, n: int) -> None:
    logits = (np.random.default_rng(seed).normal(size=n) * scale).astype(np.float32)
    for allowed in masks(logits, seed).values():
        mask = Mask(allowed)
        found = warp(logits, sampling, sampling.seen(SEEN), mask)
        assert_same(found, warp(masked(logits, allowed), sampling, sampling.seen(SEEN)))
        assert len(mask.asked) == len(set(mask.asked))


@pytest.mark.parametrize("sampling", CHAINS.values(), ids=CHAINS.keys())
def test_rows_with_equals_bans_and_a_lead(sampling: Sampling) -> None:
    rng = np.random.default_rng(8)
    logits = (rng.normal(size=N) * 2).round(1).astype(np.float32)
    logits[rng.integers(0, N, N // 2)] = -np.inf
    logits[17] = 300.0
    for allowed in masks(logits, 8).values():
        allowed = allowed & (np.arange(N) != 17)
        if not (allowed & np.isfinite(logits)).any():
            continue
        mask = Mask(allowed)
        found = warp(logits, sampling, sampling.seen(SEEN), mask)
        assert_same(found, warp(masked(logits, allowed), sampling, sampling.seen(SEEN)))
        assert np.isfinite(logits[mask.asked]).all()


def test_random_rows_masks_and_settings_in_any_order() -> None:
    rng = np.random.default_rng(11)
    for _ in range(1500):
        n = int(rng.choice([30, 500, N]))
        logits = (rng.normal(size=n) * rng.choice([0.05, 1.0, 3.0, 8.0])).astype(np.float32)
        allowed = rng.random(n) < rng.choice([0.002, 0.05, 0.5, 0.95])
        allowed[rng.integers(n)] = True
        names = rng.permutation(list(SamplerName))[: rng.integers(8)]
        sampling = Sampling(
            float(rng.choice([0.0, 0.3, 1.0, 2.0])),
            int(rng.choice([0, 1, 10, 40, 1000])),
            float(rng.choice([0.3, 0.9, 0.999, 1.0])),
            float(rng.choice([0.0, 0.01, 0.2])),
            float(rng.choice([0.5, 1.0, 1.0])),
            float(rng.choice([0.0, 0.0, 2.0])),
            float(rng.choice([1.0, 1.5])),
            presence_penalty=float(rng.choice([0.0, 1.0])),
            samplers=tuple(map(SamplerName, names)),
        )
        seen = sampling.seen(rng.integers(0, n, 20).tolist())
        mask = Mask(allowed)
        assert_same(warp(logits, sampling, seen, mask), warp(masked(logits, allowed), sampling, seen))
        assert len(mask.asked) == len(set(mask.asked))


@pytest.mark.parametrize("order", ["top_p", "temperature;top_p", "top_p;top_k", "top_k;top_p"])
def test_the_edge_of_the_nucleus(order: str) -> None:
    """Top-p with little else, where what was not asked about moves the cut; nearly all of it is allowed.

    Within rounding of 1 it may go either way for tokens of probability 1e-16.
    """
    rng = np.random.default_rng(16)
    for _ in range(300):
        logits = (rng.normal(size=N) * rng.uniform(1.5, 5.0)).astype(np.float32)
        allowed = rng.random(N) < rng.choice([0.004, 0.9, 0.99])
        allowed[0] = True
        sampling = Sampling(
            float(rng.uniform(0.5, 1.2)),
            int(rng.integers(30, 80)),
            float(rng.choice([rng.uniform(0.3, 1), np.nextafter(1, 0)])),
            samplers=tuple(map(SamplerName, order.split(";"))),
        )
        found = warp(logits, sampling, (), Mask(allowed))
        expected = warp(masked(logits, allowed), sampling)
        every = np.arange(N)
        assert np.abs(found.probs_of(every) - expected.probs_of(every)).max() < 1e-12


def row(kind: str) -> NDArray[np.float32]:
    """As wide as a real vocabulary: flat noise, or a few tokens far above it, as models have them."""
    rng = np.random.default_rng(12)
    logits = rng.normal(size=150_000).astype(np.float32) * 2
    if kind == "peaked":
        logits[rng.integers(0, logits.size, 200)] += np.float32(12)
    return logits


@pytest.mark.parametrize(
    ("kind", "sampling", "share", "most"),
    [
        ("flat", Sampling(), 0.5, 320),
        ("peaked", Sampling(), 0.5, 320),
        ("peaked", Sampling(), 1.0, 64),
        ("peaked", Sampling(), 0.05, 1344),
        ("flat", Sampling(0.0), 0.5, 64),
        ("flat", Sampling(0.0, samplers=(SamplerName.TOP_K, SamplerName.MIN_P, SamplerName.TEMPERATURE)), 0.5, 64),
        ("peaked", Sampling(0.8, 0, 0.95, 0.05), 0.5, 320),
        ("peaked", Sampling(0.8, 0, 1.0, 0.05), 0.5, 320),
        ("peaked", Sampling(0.8, 0, 0.5, 0.0), 0.5, 320),
        ("peaked", Sampling(0.8, repeat_penalty=1.2), 0.5, 320),
        ("peaked", replace(Sampling(0.5, 0, 0.9), samplers=(SamplerName.TEMPERATURE, SamplerName.TOP_P)), 0.5, 1344),
        ("peaked", Sampling(0.8, 0, 1.0, 0.0), 0.5, 150_000),
        ("peaked", Sampling(0.8, top_n_sigma=1.0), 0.5, 150_000),
    ],
)
def test_few_tokens_are_asked_about(kind: str, sampling: Sampling, share: float, most: int) -> None:
    logits = row(kind)
    mask = Mask(np.random.default_rng(13).random(logits.size) < share)
    warp(logits, sampling, sampling.seen([4, 5, 4]), mask)
    assert len(mask.asked) == len(set(mask.asked)) <= most


@pytest.mark.parametrize("min_p", [0.0, 0.05])
def test_fewer_than_top_k_need_not_be_searched_for(min_p: float) -> None:
    """Three tokens are allowed. All the others together weigh more, but not the 37 that top-k would take."""
    logits = row("flat")
    logits[[7, 70, 700]] = 14.0
    mask = Mask(np.isin(np.arange(logits.size), [7, 70, 700]))
    assert list(warp(logits, Sampling(min_p=min_p), (), mask).ids) == [7, 70, 700]
    assert len(mask.asked) == 64


@pytest.mark.parametrize("sampling", CHAINS.values(), ids=CHAINS.keys())
@pytest.mark.parametrize("n", [3, 64, N])
def test_nothing_allowed_is_a_dead_end(sampling: Sampling, n: int) -> None:
    logits = np.random.default_rng(14).normal(size=n).astype(np.float32)
    mask = Mask(np.zeros(n, bool))
    with pytest.raises(DeadEnd, match="allows no token here"):
        warp(logits, sampling, (), mask)
    banned = [token for token, bias in sampling.logit_bias if bias == -np.inf]
    assert sorted(mask.asked) == [token for token in range(n) if token not in banned]


def test_only_banned_tokens_allowed_is_a_dead_end() -> None:
    mask = Mask(np.array([True, False, False]))
    with pytest.raises(DeadEnd):
        warp(np.zeros(3, np.float32), Sampling(logit_bias=((0, -float("inf")),)), (), mask)
    assert 0 not in mask.asked


def test_an_unusable_row_is_the_model_s_fault() -> None:
    with pytest.raises(FloatingPointError, match="unusable logits"):
        warp(np.array([np.nan, 1.0], np.float32), Sampling(), (), Mask(np.zeros(2, bool)))


def test_the_row_is_left_alone() -> None:
    logits = np.random.default_rng(15).normal(size=N).astype(np.float32)
    before = logits.copy()
    warp(logits, Sampling(0.8, 0, 1.0, 0.0), (), Mask(np.ones(N, bool)))
    assert (logits == before).all()
