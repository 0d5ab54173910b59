"""Automatic layers, on made-up devices."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from specdesk.engine.build_facts import Device, DeviceKind
from specdesk.engine.model_size import read_size
from specdesk.engine.placement import ALL, Layers, place
from specdesk.hub.gguf.header import read_header
from specdesk.memory import F16, CacheType, CacheTypes, ModelSize
from tests.tiny.gguf_models import TinyPair
from tests.tiny.gguf_stubs import write_stub

GB = 10**9
TARGET = ModelSize(5 * GB, 32 * 1024, 32 * 1024, 128_000, 4096, 14_336, n_layers=32)
DRAFT = ModelSize(GB // 2, 24 * 128, 24 * 128, 128_000, 896, 4864, n_layers=24)


def gpu(free_gb: float) -> Device:
    return Device("GPU0", "", DeviceKind.GPU, int(free_gb * GB), 24 * GB)


def test_all_of_both_where_there_is_room() -> None:
    assert place(TARGET, DRAFT, [gpu(24)], 4096, F16) == Layers(ALL, ALL)


def test_the_draft_first_and_the_rest_to_the_target() -> None:
    """A device of 6 GB, a target of 5 and a draft of half a gigabyte."""
    layers = place(TARGET, DRAFT, [gpu(6)], 4096, F16)
    assert layers.draft == ALL
    assert 20 < layers.target < 32


def test_it_fits() -> None:
    for free in (1.0, 2.0, 4.0, 6.0, 8.0):
        layers = place(TARGET, DRAFT, [gpu(free)], 4096, F16)
        used = 0
        for model, n in ((TARGET, layers.target), (DRAFT, layers.draft)):
            parts = model.n_layers + 1
            n = parts if n == ALL else n
            used += (model.weights_bytes + model.cache_bytes(4096)) * n // parts + (n > 0) * model.gpu_buffer_bytes
        assert used <= 0.9 * free * GB


def test_more_memory_more_layers() -> None:
    counts = [place(TARGET, DRAFT, [gpu(gb / 4)], 4096, F16).target for gb in range(1, 36)]
    counts = [33 if n == ALL else n for n in counts]
    assert all(one <= other for one, other in pairwise(counts))
    assert (counts[0], counts[-1]) == (0, 33)


def test_a_little_more_or_less_free_memory_changes_nothing() -> None:
    """What passes cost is measured for each number of layers, and free memory is never the same twice."""
    by_step: dict[int, set[Layers]] = {}
    for free in range(5 * GB, 8 * GB, GB // 100):
        layers = place(TARGET, DRAFT, [gpu(free / GB)], 4096, F16)
        by_step.setdefault(int(free * 0.9) // 2**28, set()).add(layers)
    assert {len(found) for found in by_step.values()} == {1}
    assert len(by_step) > 5


def test_devices_count_together() -> None:
    assert place(TARGET, DRAFT, [gpu(4), gpu(4)], 4096, F16) == place(TARGET, DRAFT, [gpu(8)], 4096, F16)


def test_without_a_draft_the_target_has_it_all() -> None:
    assert place(TARGET, None, [gpu(6)], 4096, F16).target > place(TARGET, DRAFT, [gpu(6)], 4096, F16).target


def test_smaller_caches_leave_room_for_layers() -> None:
    small = CacheTypes(CacheType.Q8_0, CacheType.Q8_0)
    wide, narrow = (place(TARGET, DRAFT, [gpu(6)], 32_768, types).target for types in (F16, small))
    assert wide < narrow


def test_what_is_wanted_is_taken_and_counts() -> None:
    assert place(TARGET, DRAFT, [gpu(2)], 4096, F16, wanted=ALL, draft_wanted=3) == Layers(ALL, 3)
    assert place(TARGET, DRAFT, [gpu(6)], 4096, F16, wanted=ALL).draft == 0
    none = place(TARGET, DRAFT, [gpu(6)], 4096, F16, draft_wanted=0)
    assert none == Layers(place(TARGET, None, [gpu(6)], 4096, F16).target, 0)


def test_more_layers_than_there_are_count_as_all() -> None:
    every = place(TARGET, DRAFT, [gpu(7)], 4096, F16, wanted=33)
    assert place(TARGET, DRAFT, [gpu(7)], 4096, F16, wanted=10_000) == replace(every, target=10_000)
    assert 0 < every.draft < 24


def test_a_draft_s_cache_is_no_longer_than_it_was_trained_for() -> None:
    n_ctx, roomy = 2**19, ModelSize(GB, 0, 0, n_layers=32)
    assert place(roomy, DRAFT, [gpu(6)], n_ctx, F16).draft < 24
    assert place(roomy, replace(DRAFT, n_ctx_train=4096), [gpu(6)], n_ctx, F16) == Layers(ALL, ALL)


def test_what_is_not_known_is_left_to_llama_cpp() -> None:
    assert place(TARGET, DRAFT, [gpu(0)], 4096, F16) == Layers(ALL, ALL)
    assert place(replace(TARGET, n_layers=0), DRAFT, [gpu(6)], 4096, F16).target == ALL


class TestSizes:
    def test_as_the_hub_reads_them(self, tiny_pair: TinyPair) -> None:
        path = tiny_pair.target
        assert read_size(path) == read_header(path).memory(path.stat().st_size)

    @pytest.mark.parametrize(("n_head_kv", "key_length"), [(2, None), (None, None), ([1, 2, 0], None), (2, 32)])
    def test_of_all_kinds_of_attention(
        self, tmp_path: Path, n_head_kv: int | list[int] | None, key_length: int
    ) -> None:
        path = write_stub(tmp_path / "a.gguf", n_head_kv=n_head_kv, key_length=key_length, n_inner=[1, 3, 2])
        assert read_size(path) == read_header(path).memory(path.stat().st_size)

    def test_all_parts_of_a_split_model_count(self, tmp_path: Path) -> None:
        first = write_stub(tmp_path / "big-00001-of-00003.gguf", n_parts=3)
        (tmp_path / "big-00002-of-00003.gguf").write_bytes(b"x" * 1000)
        assert read_size(first).weights_bytes == first.stat().st_size + 1000
