"""How weights are loaded: mapped or not, and given up when stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import llama_cpp
import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFWriter
from gguf.quants import quantize

from specdesk.core.interrupted import Interrupted
from specdesk.engine import weights
from specdesk.engine.gguf import Tensors, read_tensors
from specdesk.engine.stop import StopFlag
from specdesk.engine.weights import Weights
from specdesk.errors import ModelError
from tests.tiny.gguf_models import TinyPair

X86, ARM = "AVX2 = 1 | AVX512 = 1", "NEON = 1 | DOTPROD = 1"
AMX = f"{X86} | AMX_INT8 = 1"
Q = GGMLQuantizationType


def loaded(path: Path, monkeypatch: pytest.MonkeyPatch, *, n_gpu_layers: int = 0, repack: bool = True) -> Any:
    """The parameters a file is loaded with."""
    seen = []
    load = llama_cpp.llama_model_load_from_file

    def spy(name: bytes, params: Any) -> Any:
        seen.append((params.load_mode, params.use_extra_bufts))
        params.n_gpu_layers = 0
        return load(name, params)

    monkeypatch.setattr(llama_cpp, "llama_model_load_from_file", spy)
    Weights(path, n_gpu_layers, StopFlag(), repack=repack).close()
    return seen[0]


MAPPED = llama_cpp.llama_model_default_params().load_mode


@pytest.mark.parametrize(
    ("features", "types", "mapped"),
    [
        *((X86, {kind}, False) for kind in (Q.Q4_0, Q.Q4_K, Q.IQ4_NL, Q.MXFP4, Q.Q2_K)),
        *((X86, {kind}, True) for kind in (Q.F16, Q.BF16, Q.Q8_0, Q.Q4_1, Q.Q5_0, Q.Q5_K, Q.Q6_K)),
        *((ARM, {kind}, False) for kind in (Q.Q8_0, Q.Q4_K, Q.Q6_K)),
        *((ARM, {kind}, True) for kind in (Q.Q5_0, Q.Q2_K, Q.BF16)),
        *((AMX, {kind}, False) for kind in (Q.Q8_0, Q.IQ4_XS, Q.Q2_K)),
        ("AVX2 = 0", {Q.Q4_0}, True),
        (X86, {Q.Q4_K, Q.Q6_K}, False),
        (X86, set(), True),
    ],
)
def test_what_may_be_laid_out_anew_is_not_mapped(
    features: str, types: set[int], mapped: bool, tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "read_tensors", lambda _: Tensors(frozenset(map(int, types)), 1, 1))
    monkeypatch.setattr(llama_cpp, "llama_print_system_info", lambda: f"CPU : SSE3 = 1 | {features} |".encode())
    assert (loaded(tiny_pair.target, monkeypatch)[0] == MAPPED) == mapped


@pytest.mark.parametrize(
    ("supports", "layers", "mapped"), [(False, 0, False), (False, -1, False), (True, 0, False), (True, 5, True)]
)
def test_a_file_for_the_gpu_is_mapped(
    supports: bool, layers: int, mapped: bool, tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights, "_may_be_repacked", lambda _: True)
    monkeypatch.setattr(weights, "supports_gpu", lambda: supports)
    assert (loaded(tiny_pair.target, monkeypatch, n_gpu_layers=layers)[0] == MAPPED) == mapped


@pytest.mark.parametrize("repack", [False, True])
def test_it_is_laid_out_anew_only_where_that_is_asked_for(
    repack: bool, tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert loaded(tiny_pair.target, monkeypatch, repack=repack) == (MAPPED, repack)


def test_where_the_types_cannot_be_told_it_is_mapped(tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: Path) -> Tensors:
        raise ModelError(f"cannot tell {path}")

    monkeypatch.setattr(weights, "read_tensors", refused)
    assert loaded(tiny_pair.target, monkeypatch)[0] == MAPPED


def test_a_load_that_is_stopped_gives_up_at_once(tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch) -> None:
    models = []
    load = llama_cpp.llama_model_load_from_file

    def spy(name: bytes, params: Any) -> Any:
        models.append(load(name, params))
        return models[-1]

    monkeypatch.setattr(llama_cpp, "llama_model_load_from_file", spy)
    stop = StopFlag()
    stop.set()
    with pytest.raises(Interrupted):
        Weights(tiny_pair.target, 0, stop, repack=True)
    assert models == [None]


def test_all_types_of_a_file_are_told(tmp_path: Path) -> None:
    path = tmp_path / "mixed.gguf"
    writer = GGUFWriter(path, "llama")
    rows = np.ones((2, 64), np.float32)
    for kind in (Q.Q4_0, Q.F16, Q.Q8_0, Q.F32):
        writer.add_tensor(kind.name, quantize(rows, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    tensors = read_tensors(path)
    assert tensors.types == {Q.Q4_0, Q.F16, Q.Q8_0}
    assert tensors.n_weights == 4 * 128
