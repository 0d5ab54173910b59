"""Memory, asked before models are loaded, on made-up machines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from specdesk.engine.load_options import LoadOptions
from specdesk.engine.memory_check import check_memory
from specdesk.engine.model_size import read_size
from specdesk.errors import ModelError
from specdesk.memory import CacheType, needed_bytes
from specdesk.system_memory import SystemMemory
from tests.engine.conftest import OpenEngine
from tests.tiny.gguf_models import TinyPair

OPTIONS = LoadOptions(4096, 1, 0)


Set = Callable[[int, int, int], None]


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Set:
    """Sets what is free, what there is, and swap."""

    def set_(available: int, total: int, swap: int) -> None:
        monkeypatch.setattr("specdesk.engine.memory_check.system_memory", lambda: SystemMemory(total, available, swap))

    return set_


def needed(pair: TinyPair) -> int:
    return needed_bytes([read_size(pair.target), read_size(pair.draft)], OPTIONS.n_ctx)


def said(pair: TinyPair, options: LoadOptions = OPTIONS) -> list[str]:
    notices: list[str] = []
    check_memory([(pair.target, options), (pair.draft, options)], notices.append)
    return notices


def test_enough(tiny_pair: TinyPair, memory: Set) -> None:
    memory(needed(tiny_pair), needed(tiny_pair), 0)
    assert said(tiny_pair) == []


def test_less_is_free(tiny_pair: TinyPair, memory: Set) -> None:
    memory(needed(tiny_pair) - 1, 10**10, 0)
    (notice,) = said(tiny_pair)
    assert "target.gguf and draft.gguf take about" in notice
    assert "--ctx" in notice


def test_smaller_caches_take_less(tiny_pair: TinyPair, memory: Set) -> None:
    memory(needed(tiny_pair) - 1, 10**10, 0)
    assert said(tiny_pair, LoadOptions(4096, 1, 0, CacheType.Q8_0, CacheType.Q8_0)) == []


def test_less_is_there(tiny_pair: TinyPair, memory: Set) -> None:
    memory(10, 20, needed(tiny_pair) - 21)
    with pytest.raises(ModelError, match="swap included") as caught:
        said(tiny_pair)
    assert "specdesk doctor" in caught.value.hint
    memory(10, 20, needed(tiny_pair) - 20)
    assert len(said(tiny_pair)) == 1


def test_layers_on_a_gpu_are_counted_there(tiny_pair: TinyPair, memory: Set) -> None:
    memory(1, 1, 0)
    assert said(tiny_pair, LoadOptions(4096, 1, -1)) == []
    assert said(tiny_pair, LoadOptions(4096, 1, 1)) == []


def test_a_model_on_a_gpu_does_not_count_beside_one_that_is_not(tiny_pair: TinyPair, memory: Set) -> None:
    alone = needed_bytes([read_size(tiny_pair.target)], OPTIONS.n_ctx)
    for on_gpu in (tiny_pair.draft, tiny_pair.target):
        models = [
            (path, replace(OPTIONS, n_gpu_layers=-1 if path == on_gpu else 0))
            for path in (tiny_pair.target, tiny_pair.draft)
        ]
        notices: list[str] = []
        memory(alone, alone, 0)
        check_memory(models, notices.append)
        assert notices == []
        memory(1, 10**10, 0)
        check_memory(models, notices.append)
        (said,) = notices
        assert on_gpu.name not in said


def test_the_engine_asks_before_it_loads(tiny_pair: TinyPair, memory: Set, open_engine: OpenEngine) -> None:
    memory(1, 1, 0)
    with pytest.raises(ModelError, match="swap included"):
        open_engine(tiny_pair.target, tiny_pair.draft)
