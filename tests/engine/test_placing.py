"""How models are placed: each option reaches llama.cpp and is shown back, or is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import llama_cpp
import pytest

from specdesk.engine import build_limits, placement, resolve, weights
from specdesk.engine.build_facts import Device, DeviceKind
from specdesk.engine.gpus import Seen
from specdesk.engine.invariance import _probe_choices
from specdesk.engine.llama import LlamaLM
from specdesk.engine.load_options import LoadOptions
from specdesk.engine.loaded import LoadedPair
from specdesk.engine.machine import setting
from specdesk.engine.model_size import read_size
from specdesk.engine.stop import StopFlag
from specdesk.engine.weights import Weights, supports_gpu
from specdesk.errors import UsageError
from specdesk.memory import CacheType, CacheTypes
from specdesk.settings import EngineSettings, LoadMode, Placing
from tests.tiny.gguf_models import TinyPair

GPUS = tuple(Device(f"CUDA{n}", "a GPU", DeviceKind.GPU, 10**10, 10**10) for n in range(2))
CPU = Device("CPU", "a processor", DeviceKind.CPU, 0, 0)
Q8 = CacheTypes(CacheType.Q8_0, CacheType.Q8_0)


def opened(pair: TinyPair, notices: list[str] | None = None, *, exact: bool = False, **settings: Any) -> LoadedPair:
    told = EngineSettings(pair.target, pair.draft, 512, 1, measure=False, exact=exact, **settings)
    return LoadedPair(told, (lambda _: None) if notices is None else notices.append, StopFlag())


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolve, "supports_gpu", lambda: True)
    monkeypatch.setattr(resolve, "devices", lambda: (CPU, *GPUS))


class TestCacheTypes:
    @pytest.mark.parametrize("kind", list(CacheType))
    def test_both_models_cache_as_told_and_say_so(self, tiny_pair: TinyPair, kind: CacheType) -> None:
        with opened(tiny_pair, cache_type_k=kind, cache_type_v=kind) as pair:
            session = pair._session
            assert session.draft is not None
            for lm in (session.target, session.draft):
                assert isinstance(lm, LlamaLM)
                assert (lm.options.cache_type_k, lm.options.cache_type_v) == (kind, kind)
                lm.extend([5, 6, 7], 1)
            assert pair.info.cache == CacheTypes(kind, kind)

    def test_smaller_ones_take_less(self, tiny_pair: TinyPair) -> None:
        sizes = []
        for kind in (CacheType.F16, CacheType.Q8_0):
            with LlamaLM(tiny_pair.target, LoadOptions(512, 1, 0, kind, kind), StopFlag()) as lm:
                lm.extend(list(range(3, 103)), 0)
                sizes.append(lm.cells().size)
        assert sizes[1] < 0.6 * sizes[0]

    def test_exact_mode_keeps_to_them(self, quantized_pair: TinyPair) -> None:
        with opened(quantized_pair, exact=True, cache_type_k=CacheType.F16) as pair:
            assert pair.info.cache == CacheTypes()
            assert pair.info.exact is not None
            assert pair.info.exact.settings.cache_type_k is CacheType.F16

    def test_exact_mode_tries_no_others(self, monkeypatch: pytest.MonkeyPatch, tiny_pair: TinyPair) -> None:
        tried = []

        def widest(_path: Path, options: LoadOptions, _stop: StopFlag) -> int:
            tried.append((options.cache_type_k, options.cache_type_v, options.repack))
            return 1

        monkeypatch.setattr("specdesk.engine.invariance._widest", widest)
        options = LoadOptions(512, 1, 0, CacheType.Q8_0, CacheType.Q4_0)
        _probe_choices(tiny_pair.target, options, StopFlag(), keeps_types=True)
        assert tried == [(CacheType.Q8_0, CacheType.Q4_0, True), (CacheType.Q8_0, CacheType.Q4_0, False)]


class TestGpus:
    @pytest.mark.skipif(supports_gpu(), reason="this build of llama.cpp has a GPU backend")
    @pytest.mark.parametrize(
        ("placing", "said"), [(Placing(0), "--main-gpu 0"), (Placing(None, (1.0, 2.5)), "--tensor-split 1,2.5")]
    )
    def test_none_to_place_on(
        self, tiny_pair: TinyPair, placing: Placing, said: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(build_limits, "seen_gpus", lambda: Seen(()))
        with pytest.raises(UsageError, match="cannot put layers on a GPU") as caught:
            opened(tiny_pair, placing=placing)
        assert caught.value.message.startswith(f"{said}: ")

    @pytest.mark.parametrize("placing", [Placing(2), Placing(None, (1, 1, 1))])
    def test_more_than_there_are(self, tiny_pair: TinyPair, placing: Placing, two_gpus: None) -> None:
        with pytest.raises(UsageError, match="sees 2 here: CUDA0, CUDA1"):
            opened(tiny_pair, placing=placing)

    def test_one_and_several(self, tiny_pair: TinyPair) -> None:
        with pytest.raises(UsageError, match="exclude each other"):
            opened(tiny_pair, placing=Placing(1, (1, 1)))

    @pytest.mark.parametrize("placing", [Placing(1), Placing(None, (3, 1)), Placing()])
    def test_what_is_there_is_passed_on(self, tiny_pair: TinyPair, placing: Placing, two_gpus: None) -> None:
        told = EngineSettings(tiny_pair.target, tiny_pair.draft, 512, 1, placing=placing)
        loading = resolve.as_given(told, lambda _: None)
        assert loading.target_options.placing == loading.draft_options.placing == placing

    def test_layers_are_as_many_as_fit_and_that_is_said(
        self, quantized_pair: TinyPair, two_gpus: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Small models, and devices on which the target's passes have no room."""
        target = read_size(quantized_pair.target)
        monkeypatch.setattr(placement, "_GRAIN", 1)
        monkeypatch.setattr(resolve, "read_size", lambda path: replace(target, weights_bytes=10**10, n_layers=39))
        notices: list[str] = []
        told = EngineSettings(quantized_pair.target, None, 512, 1)
        loading = resolve.as_given(told, notices.append)
        assert loading.target_options.n_gpu_layers == -1, "10 of 20 GB"
        loading = resolve.as_given(replace(told, placing=Placing(1)), notices.append)
        assert loading.target_options.n_gpu_layers == 35
        (notice,) = notices
        assert notice == "35 of 40 layers of the target go to CUDA1, 10.0 GB free there (--gpu-layers N decides)"

    def test_wanted_layers_are_not_second_guessed(self, tiny_pair: TinyPair, two_gpus: None) -> None:
        told = EngineSettings(tiny_pair.target, tiny_pair.draft, 512, 1, 1, 0)
        loading = resolve.as_given(told, lambda _: None)
        assert (loading.target_options.n_gpu_layers, loading.draft_options.n_gpu_layers) == (1, 0)

    def test_it_is_part_of_what_was_measured(self, tiny_pair: TinyPair) -> None:
        keys = [
            setting(tiny_pair.target, LoadOptions(512, 1, -1, placing=placing))
            for placing in (Placing(), Placing(0), Placing(None, (1, 2)), Placing(load_mode=LoadMode.READ))
        ]
        assert keys[0] == keys[3]
        assert len({str(key) for key in keys}) == 3


@pytest.fixture
def params(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """What llama.cpp is given for a placing; loading goes on with what this machine can do."""
    load = llama_cpp.llama_model_load_from_file

    def given(path: Path, placing: Placing, *, laid_out_anew: bool = False) -> dict[str, Any]:
        seen: dict[str, Any] = {}

        def spy(name: bytes, told: Any) -> Any:
            seen.update(mode=told.load_mode, split=told.split_mode, main_gpu=told.main_gpu)
            seen["shares"] = [told.tensor_split[n] for n in range(3)] if told.tensor_split else None
            return load(name, llama_cpp.llama_model_default_params())

        monkeypatch.setattr(llama_cpp, "llama_model_load_from_file", spy)
        monkeypatch.setattr(weights, "_may_be_repacked", lambda _path: laid_out_anew)
        Weights(path, 0, StopFlag(), repack=True, placing=placing).close()
        return seen

    return given


@pytest.mark.parametrize(
    ("mode", "laid_out_anew", "expected"),
    [
        (LoadMode.AUTO, False, llama_cpp.llama_model_default_params().load_mode),
        (LoadMode.AUTO, True, llama_cpp.LLAMA_LOAD_MODE_NONE),
        (LoadMode.MAP, True, llama_cpp.LLAMA_LOAD_MODE_MMAP),
        (LoadMode.READ, False, llama_cpp.LLAMA_LOAD_MODE_NONE),
        (LoadMode.LOCK, False, llama_cpp.LLAMA_LOAD_MODE_MMAP_MLOCK),
        (LoadMode.LOCK, True, llama_cpp.LLAMA_LOAD_MODE_MLOCK),
    ],
)
def test_load_modes(
    tiny_pair: TinyPair, params: Callable[..., Any], mode: LoadMode, laid_out_anew: bool, expected: int
) -> None:
    assert params(tiny_pair.target, Placing(load_mode=mode), laid_out_anew=laid_out_anew)["mode"] == expected


def test_gpus_reach_llama_cpp(tiny_pair: TinyPair, params: Callable[..., Any]) -> None:
    one = params(tiny_pair.target, Placing(1))
    assert (one["split"], one["main_gpu"], one["shares"]) == (llama_cpp.LLAMA_SPLIT_MODE_NONE, 1, None)
    # Whatever the unit: llama.cpp keeps them in 32 bits, where the larger ones are infinite and the smaller ones 0.
    for unit in (1.0, 1e300, 1e-300):
        shared = params(tiny_pair.target, Placing(None, (4 * unit, unit)))
        assert (shared["split"], shared["shares"]) == (llama_cpp.LLAMA_SPLIT_MODE_LAYER, [1.0, 0.25, 0.0])


def test_weights_that_cannot_be_locked_are_told(tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch) -> None:
    words = "warning: failed to mlock 500-byte buffer: Cannot allocate memory"
    monkeypatch.setattr("specdesk.engine.native_log.NativeLog.line_with", lambda _self, _words: words)
    notices: list[str] = []
    with opened(tiny_pair, notices, placing=Placing(load_mode=LoadMode.LOCK)) as pair:
        assert asdict(pair.info.placing)["load_mode"] is LoadMode.LOCK
    assert [notice for notice in notices if words in notice and "--load-mode lock" in notice][:1]
    notices.clear()
    with opened(tiny_pair, notices):
        assert not any(words in notice for notice in notices)
