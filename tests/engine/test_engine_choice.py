"""Which library computes, as it is asked for: what it cannot honour is refused, and nothing is mixed up.

None of this needs the second library; tests/engine/test_ik.py has what does.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest

from specdesk.engine.loaded import LoadedPair
from specdesk.engine.native.ik import binding
from specdesk.engine.profiles import Profiles
from specdesk.engine.resolve import as_given, as_tuned
from specdesk.engine.stop import StopFlag
from specdesk.engine.tuning.tune import tune
from specdesk.engine.tuning.tuned import Tuned
from specdesk.engine.tuning.tuned_records import TunedRecord, TunedRecords
from specdesk.errors import EngineMissingError, UsageError
from specdesk.memory import CacheType
from specdesk.settings import EngineSettings, LoadMode, NativeLibrary, Placing
from tests.tiny.gguf_models import TinyPair


def settings(pair: TinyPair, **given: Any) -> EngineSettings:
    return EngineSettings(pair.target, pair.draft, 512, **{"n_threads": 1, "engine": NativeLibrary.IK, **given})


def test_both_models_are_loaded_with_it(tiny_pair: TinyPair) -> None:
    for engine in NativeLibrary:
        loading = as_given(settings(tiny_pair, engine=engine), lambda _: None)
        assert (loading.target_options.native, loading.draft_options.native) == (engine, engine)
        assert loading.target_options.repack


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"n_gpu_layers": 3}, "--gpu-layers: ik_llama.cpp"),
        ({"draft_n_gpu_layers": -1}, "--draft-gpu-layers: ik_llama.cpp"),
        ({"placing": Placing(main_gpu=0)}, "--main-gpu: ik_llama.cpp"),
        ({"placing": Placing(tensor_split=(1, 1))}, "--tensor-split: ik_llama.cpp"),
        ({"cache_type_k": CacheType.F32}, "--cache-type-k f32: ik_llama.cpp caches as f16 and q8_0 only"),
        ({"cache_type_v": CacheType.Q4_0}, "--cache-type-v q4_0: ik_llama.cpp caches as"),
    ],
)
def test_what_it_cannot_honour_is_refused(tiny_pair: TinyPair, given: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as refused:
        as_given(settings(tiny_pair, **given), lambda _: None)
    assert refused.value.message.startswith(words)


def test_a_mapped_file_is_not_laid_out_anew_and_that_is_said(tiny_pair: TinyPair) -> None:
    said: list[str] = []
    loading = as_given(settings(tiny_pair, placing=Placing(load_mode=LoadMode.MAP)), said.append)
    assert not loading.target_options.repack
    assert [line for line in said if line.startswith("--load-mode map")]


def test_of_what_was_tuned_with_llama_cpp_only_the_draft_counts(tiny_pair: TinyPair, tmp_path: Path) -> None:
    profiles = Profiles(tmp_path / "profiles", lambda _: None)
    found = Tuned(n_threads=1, cache_type_k=CacheType.Q8_0)
    TunedRecords(tiny_pair.target, tiny_pair.draft, profiles).put(TunedRecord(found, 0, 0, 1.0, 2.0))
    for engine, tuned in ((NativeLibrary.LLAMA, found), (NativeLibrary.IK, Tuned())):
        given = replace(settings(tiny_pair, engine=engine), n_threads=None)
        assert as_tuned(given, profiles, lambda _: None).tuned == tuned


def test_tuning_is_llama_cpp_s(tiny_pair: TinyPair) -> None:
    with pytest.raises(UsageError, match=r"llama\.cpp alone"):
        tune(settings(tiny_pair), lambda _: None, lambda _: None, StopFlag())


def test_where_it_is_absent_that_is_said_with_what_to_type(
    tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(binding, "version", absent)
    binding.ik_library.cache_clear()
    with pytest.raises(EngineMissingError) as missing:
        LoadedPair(settings(tiny_pair, measure=False), lambda _: None, StopFlag())
    assert "ik-llama-cpp-python is not installed" in missing.value.message
    assert "pip install" in missing.value.hint
