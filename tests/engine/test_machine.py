"""What tells one machine, model and way of loading from another."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from specdesk.engine import machine as module
from specdesk.engine.load_options import LoadOptions
from specdesk.engine.machine import setting
from specdesk.errors import ModelError
from specdesk.memory import CacheType
from specdesk.settings import NativeLibrary

OPTIONS = LoadOptions(n_ctx=64, n_threads=2, n_gpu_layers=0)


def test_the_key_has_all_that_decides(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    model = tmp_path / "model.gguf"
    model.write_bytes(b"GGUF one")
    keys = [setting(model, OPTIONS)]
    keys.append(setting(model, replace(OPTIONS, n_threads=1)))
    keys.append(setting(model, replace(OPTIONS, n_gpu_layers=-1)))
    keys.append(setting(model, replace(OPTIONS, cache_type_k=CacheType.Q8_0)))
    keys.append(setting(model, replace(OPTIONS, repack=False)))
    keys.append(setting(model, replace(OPTIONS, flash_attention=False)))
    keys.append(setting(model, replace(OPTIONS, native=NativeLibrary.IK)))
    model.write_bytes(b"GGUF two")
    keys.append(setting(model, OPTIONS))
    model.write_bytes(b"GGUF two and more")
    keys.append(setting(model, OPTIONS))
    monkeypatch.setattr(module, "machine", lambda: {"devices": ["another"]})
    keys.append(setting(model, OPTIONS))
    assert all(one != other for i, one in enumerate(keys) for other in keys[:i])


def test_the_size_of_the_context_makes_no_difference(tmp_path: Path) -> None:
    model = tmp_path / "model.gguf"
    model.write_bytes(b"GGUF")
    assert setting(model, OPTIONS) == setting(model, replace(OPTIONS, n_ctx=4096, n_sequences=3))


def test_a_model_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot read"):
        setting(tmp_path / "model.gguf", OPTIONS)
