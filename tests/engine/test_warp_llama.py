"""Our warp chain against llama.cpp's own samplers, on the same logits."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import llama_cpp
import numpy as np
import pytest
from numpy.typing import NDArray

from specdesk.core.sampling import SamplerName, Sampling
from specdesk.core.warp import warp

TOLERANCE = 1e-5
"""llama.cpp computes in single precision."""


def native(logits: NDArray[np.float32], sampling: Sampling, seen: Sequence[int]) -> NDArray[np.float64]:
    """The distribution llama.cpp's common chain leaves, shape (n_vocab,)."""
    data = (llama_cpp.llama_token_data * logits.size)(*((i, float(x), 0.0) for i, x in enumerate(logits)))
    array = llama_cpp.llama_token_data_array(data, logits.size, -1, False)
    for sampler in samplers(logits.size, sampling, seen):
        llama_cpp.llama_sampler_apply(sampler, ctypes.byref(array))
        llama_cpp.llama_sampler_free(sampler)
    left = [(array.data[i].id, array.data[i].logit) for i in range(array.size)]
    ids, x = np.array([i for i, _ in left]), np.array([x for _, x in left])
    weights = np.exp(x - x.max())
    out = np.zeros(logits.size)
    out[ids] = weights / weights.sum()
    return out


def samplers(n_vocab: int, s: Sampling, seen: Sequence[int]) -> Iterator[object]:
    """The bias, then what `s` names in its order; each is freed by the caller."""
    if s.logit_bias:
        biases = (llama_cpp.llama_logit_bias * len(s.logit_bias))(*s.logit_bias)
        yield llama_cpp.llama_sampler_init_logit_bias(n_vocab, len(s.logit_bias), biases)
    yield from (sampler(name, n_vocab, s, seen) for name in s.samplers)


def sampler(name: SamplerName, n_vocab: int, s: Sampling, seen: Sequence[int]) -> object:
    match name:
        case SamplerName.PENALTIES:
            penalties = llama_cpp.llama_sampler_init_penalties(
                n_vocab, s.repeat_last_n, s.repeat_penalty, s.frequency_penalty, s.presence_penalty
            )
            for token in seen:
                llama_cpp.llama_sampler_accept(penalties, token)
            return penalties
        case SamplerName.TOP_N_SIGMA:
            return llama_cpp.llama_sampler_init_top_n_sigma(s.top_n_sigma)
        case SamplerName.TOP_K:
            return llama_cpp.llama_sampler_init_top_k(s.top_k)
        case SamplerName.TYPICAL_P:
            return llama_cpp.llama_sampler_init_typical(s.typical_p, 0)
        case SamplerName.TOP_P:
            return llama_cpp.llama_sampler_init_top_p(s.top_p, 0)
        case SamplerName.MIN_P:
            return llama_cpp.llama_sampler_init_min_p(s.min_p, 0)
        case SamplerName.TEMPERATURE:
            return llama_cpp.llama_sampler_init_temp(s.temperature)


def ours(logits: NDArray[np.float32], sampling: Sampling, text: Sequence[int]) -> NDArray[np.float64]:
    law = warp(logits, sampling, sampling.seen(text))
    out = np.zeros(logits.size)
    out[law.ids] = law.probs
    return out


TEXT = [3, 7, 7, 1, 3, 200, 7, 9] * 3
CHAINS = [
    Sampling(),
    Sampling(0.0),
    Sampling(0.5, 0, 1.0, 0.0),
    Sampling(1.3, 0, 0.9, 0.0),
    Sampling(1.0, 0, 0.6, 0.1, typical_p=0.7),
    Sampling(1.0, 40, 0.95, 0.05, typical_p=0.4),
    Sampling(1.0, 0, 1.0, 0.0, typical_p=0.9),
    Sampling(0.8, 40, 0.95, 0.05, top_n_sigma=1.0),
    Sampling(0.8, 0, 0.7, 0.0, top_n_sigma=2.5),
    Sampling(0.8, 5, 1.0, 0.0, top_n_sigma=3.0, typical_p=0.8),
    Sampling(0.8, repeat_penalty=1.3),
    Sampling(0.8, repeat_penalty=1.1, frequency_penalty=0.3, presence_penalty=0.6, repeat_last_n=10),
    Sampling(0.8, 0, 1.0, 0.0, frequency_penalty=-0.5, repeat_last_n=5),
    Sampling(0.0, repeat_penalty=2.0, presence_penalty=1.0),
    Sampling(0.8, logit_bias=((3, 4.0), (7, -100.0), (11, -float("inf")))),
    Sampling(0.8, 6, 0.9, 0.02, 0.8, 2.0, 1.2, 0.2, 0.1, 16, ((1, 2.0),)),
]
"""Where top-n-sigma leaves fewer than top-k, llama.cpp's typical sampler computes 0 x log 0 and its order is undefined:
no chain here goes there."""


@pytest.mark.parametrize("sampling", CHAINS)
@pytest.mark.parametrize(("seed", "scale", "n"), [(1, 1.0, 300), (2, 3.0, 300), (3, 6.0, 5000), (4, 0.2, 1000)])
def test_the_chain_agrees_with_llama_cpp(sampling: Sampling, seed: int, scale: float, n: int) -> None:
    """Float ties at a cut excepted: the seeds have none."""
    logits = (np.random.default_rng(seed).normal(size=n) * scale).astype(np.float32)
    found, expected = ours(logits, sampling, TEXT), native(logits, sampling, TEXT)
    assert np.abs(found - expected).max() < TOLERANCE


ALL_ON = Sampling(
    0.6,
    12,
    0.9,
    0.04,
    0.85,
    1.5,
    1.3,
    0.2,
    0.4,
    repeat_last_n=12,
    logit_bias=((3, 2.0), (7, -3.0), (11, -float("inf"))),
)
"""Every sampler cuts or moves something, wherever it stands."""
ORDERS = [
    "temperature;penalties;top_n_sigma;top_k;top_p;min_p",
    "temperature;top_p",
    "temperature;min_p",
    "temperature;typ_p;top_k",
    "min_p;top_k;temperature",
    "min_p;top_p;temperature",
    "top_p;temperature;min_p",
    "top_k;temperature;top_p",
    "top_k;top_p;temperature;penalties",
    "top_k;temperature;penalties;min_p",
    "top_k;typ_p;temperature;penalties;top_p",
    "top_p;top_k;penalties;top_n_sigma",
    "top_k;min_p;top_n_sigma;temperature",
    "typ_p;top_p;top_k;min_p;temperature;penalties",
    "penalties;temperature",
    "top_k",
    "typ_p",
    "temperature",
]

# As in CHAINS, nothing that leaves minus infinities comes before typical-p, and a temperature of 0 does.
GREEDY_ORDERS = [order for order in ORDERS if "temperature;typ_p" not in order]


@pytest.mark.parametrize(
    ("order", "temperature"), [*product(ORDERS, (0.6, 2.0)), *((order, 0.0) for order in GREEDY_ORDERS)]
)
@pytest.mark.parametrize(("seed", "scale", "n"), [(1, 1.0, 300), (2, 3.0, 300), (3, 6.0, 5000)])
def test_any_order_agrees_with_llama_cpp(order: str, temperature: float, seed: int, scale: float, n: int) -> None:
    names = tuple(map(SamplerName, order.split(";")))
    sampling = replace(ALL_ON, temperature=temperature, samplers=names)
    if SamplerName.TYPICAL_P in names:
        sampling = replace(sampling, logit_bias=((3, 2.0), (7, -3.0)))
    logits = (np.random.default_rng(seed).normal(size=n) * scale).astype(np.float32)
    assert np.abs(ours(logits, sampling, TEXT) - native(logits, sampling, TEXT)).max() < TOLERANCE


@pytest.mark.parametrize("last_n", [0, 1, 3, 64])
def test_penalties_look_as_far_back(last_n: int) -> None:
    logits = np.random.default_rng(5).normal(size=300).astype(np.float32)
    for repeat, frequency, presence in product((1.0, 1.5), (0.0, 0.7), (0.0, 0.9)):
        sampling = Sampling(
            1.0, 0, 1.0, 0.0,
            repeat_penalty=repeat, frequency_penalty=frequency, presence_penalty=presence, repeat_last_n=last_n,
        )  # fmt: skip
        assert np.abs(ours(logits, sampling, TEXT) - native(logits, sampling, TEXT)).max() < TOLERANCE
