"""Which passes round as one-token passes do: probed on real GGUF files, kept, and trusted only where measured."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType

from specdesk.core.interrupted import Interrupted
from specdesk.engine import invariance
from specdesk.engine.cache_settings import Invariance
from specdesk.engine.invariance import MAX_WIDTH, find_invariance
from specdesk.engine.llama import LlamaLM
from specdesk.engine.load_options import LoadOptions
from specdesk.engine.profiles import Profiles
from specdesk.engine.stop import StopFlag
from specdesk.errors import ModelError
from specdesk.memory import CacheType
from tests.engine.conftest import WriteModel
from tests.tiny.gguf_models import TARGET

Q8_0 = replace(TARGET, quantization=GGMLQuantizationType.Q8_0)
OPTIONS = LoadOptions(2048, 1, 0)
TWO_THREADS = replace(OPTIONS, n_threads=2, n_ctx=1024)
"""They share out the cache between them from 512 cells on, where a single one rounds as at every other depth."""


class Finder:
    """Looks, and remembers what it was told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notices: list[str] = []

    def find(self, path: Path, options: LoadOptions = OPTIONS, stop: StopFlag | None = None) -> Invariance:
        profiles = Profiles(self.folder, self.notices.append)
        return find_invariance(path, options, profiles, self.notices.append, stop or StopFlag())

    @property
    def n_probes(self) -> int:
        return sum("probing" in notice for notice in self.notices)


@pytest.fixture
def finder(tmp_path: Path) -> Finder:
    return Finder(tmp_path / "profiles")


def rows_one_by_one(lm: LlamaLM, ids: list[int], start: int) -> list[bytes]:
    lm.truncate(start)
    return [lm.extend([token], 1)[0].tobytes() for token in ids]


def test_a_quantized_model_has_wide_passes_and_they_hold_where_nothing_was_probed(
    finder: Finder, write_model: WriteModel
) -> None:
    """Other tokens, other depths: the logits and what stays in the cache are those of one-token passes, to the bit."""
    path = write_model(Q8_0)
    found = finder.find(path)
    assert found.width == MAX_WIDTH
    ids = np.random.default_rng(5).integers(3, 259, size=1400).tolist()
    with LlamaLM(path, OPTIONS.cached(found.settings), StopFlag()) as lm:
        for start in (1, 100, 254, 400, 511, 700, 1021, 1350):
            lm.extend(ids[len(lm.ids) : start], 0)
            block = ids[start : start + MAX_WIDTH]
            one = rows_one_by_one(lm, block, start)
            cells = lm.cells().tobytes()
            for width in range(2, MAX_WIDTH + 1):
                lm.truncate(start)
                wide = [row.tobytes() for row in lm.extend(block[:width], width)]
                assert wide == one[:width], (start, width)
                rest = [lm.extend([token], 1)[0].tobytes() for token in block[width:]]
                assert rest == one[width:], (start, width)
                assert lm.cells().tobytes() == cells, (start, width)


def test_the_settings_as_given_do_not_hold_deep_in_the_context(write_model: WriteModel) -> None:
    """Else the probe would look at nothing: with one cache type, one-token passes change their kernel at 512 cells."""
    path = write_model(Q8_0)
    assert invariance._widest(path, replace(TWO_THREADS, n_ctx=128), StopFlag()) == MAX_WIDTH
    assert invariance._widest(path, TWO_THREADS, StopFlag()) == 1


def test_settings_that_hold_are_found_and_named(finder: Finder, write_model: WriteModel) -> None:
    found = finder.find(write_model(Q8_0), TWO_THREADS)
    assert found.width == MAX_WIDTH
    assert found.settings == invariance._MIXED
    assert found.settings.changes == "keys are cached as q8_0"
    assert invariance._AS_GIVEN.changes == ""


def test_only_the_deep_part_of_a_long_context_may_differ(
    monkeypatch: pytest.MonkeyPatch, write_model: WriteModel
) -> None:
    """Copies of the text make the cache look long, and a kernel that changes only there is seen."""
    monkeypatch.setattr(invariance, "_DEPTHS", (32, 100))
    path = write_model(Q8_0)
    assert invariance._widest(path, replace(TWO_THREADS, n_ctx=256), StopFlag()) == MAX_WIDTH
    assert invariance._widest(path, TWO_THREADS, StopFlag()) == 1


def test_a_model_without_any_is_found_out(finder: Finder, write_model: WriteModel) -> None:
    assert finder.find(write_model(TARGET)).width == 1


@pytest.mark.parametrize("n_ctx", [16, 20, 41, 256, 300])
def test_small_contexts_are_probed_as_far_as_they_go(finder: Finder, write_model: WriteModel, n_ctx: int) -> None:
    found = finder.find(write_model(Q8_0), replace(OPTIONS, n_ctx=n_ctx))
    assert found.n_ctx == n_ctx
    assert found.width == MAX_WIDTH


def test_it_is_probed_once(finder: Finder, write_model: WriteModel) -> None:
    path = write_model(Q8_0)
    first = finder.find(path)
    assert finder.n_probes == 1
    assert finder.find(path) == first
    assert finder.find(path, replace(OPTIONS, n_ctx=512)) == first
    assert finder.n_probes == 1


def test_it_is_probed_again_for_whatever_may_change_it(finder: Finder, write_model: WriteModel) -> None:
    path = write_model(Q8_0)
    finder.find(path)
    finder.find(path, replace(OPTIONS, n_threads=2, n_ctx=64))
    finder.find(path, replace(OPTIONS, n_ctx=4096))
    finder.find(write_model(replace(Q8_0, seed=4)))
    assert finder.n_probes == 4


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"format": 1}',
        '{"format": 0, "key": KEY, "value": VALUE}',
        '{"format": 1, "key": {}, "value": VALUE}',
        '{"format": 1, "key": KEY, "value": null}',
        '{"format": 1, "key": KEY, "value": {"settings": {}, "width": 9, "n_ctx": 4096}}',
        '{"format": 1, "key": KEY, "value": {"settings": {"cache_type_k": "q1"}, "width": 9, "n_ctx": 4096}}',
        '{"format": 1, "key": KEY, "value": {"settings": SETTINGS, "width": 0, "n_ctx": 4096}}',
        '{"format": 1, "key": KEY, "value": {"settings": SETTINGS, "width": 10, "n_ctx": 4096}}',
        "[" * 200_000,
        '{"format": 1, "key": KEY, "value": {"settings": SETTINGS, "width": "9", "n_ctx": 4096}}',
    ],
)
def test_a_damaged_record_is_as_good_as_none(finder: Finder, write_model: WriteModel, text: str) -> None:
    path = write_model(Q8_0)
    first = finder.find(path)
    (kept,) = finder.folder.iterdir()
    whole = kept.read_text()
    key = whole[whole.index('"key": ') + 7 : whole.index(',\n  "value"')]
    value = whole[whole.index('"value": ') + 9 : whole.rindex("}")]
    settings = '{"cache_type_k": "f16", "cache_type_v": "f16", "repack": true}'
    kept.write_text(text.replace("KEY", key).replace("VALUE", value).replace("SETTINGS", settings))
    assert finder.find(path) == first
    assert finder.n_probes == 2
    assert kept.read_text() == whole


def test_a_folder_that_cannot_be_written_costs_only_time(tmp_path: Path, write_model: WriteModel) -> None:
    (tmp_path / "profiles").write_text("a file, where a folder should be")
    finder = Finder(tmp_path / "profiles")
    assert finder.find(write_model(Q8_0)).width == MAX_WIDTH
    assert any("cannot be kept" in notice for notice in finder.notices)


def test_no_half_written_record_is_left(finder: Finder, write_model: WriteModel) -> None:
    finder.find(write_model(Q8_0))
    assert [path.suffix for path in finder.folder.iterdir()] == [".json"]


def test_settings_that_llama_cpp_refuses_are_no_choice(finder: Finder, write_model: WriteModel) -> None:
    """A quantized cache wants heads of a multiple of 32; the model itself loads."""
    path = write_model(replace(Q8_0, n_head=4))
    with pytest.raises(ModelError):
        LlamaLM(path, TWO_THREADS.cached(invariance._MIXED), StopFlag())
    assert finder.find(path, TWO_THREADS).settings.cache_type_k is CacheType.F16


def test_a_stop_ends_it(finder: Finder, write_model: WriteModel) -> None:
    stop = StopFlag()
    stop.set()
    with pytest.raises(Interrupted):
        finder.find(write_model(Q8_0), stop=stop)


def test_a_missing_model_is_said_as_ever(finder: Finder, tmp_path: Path) -> None:
    with pytest.raises(ModelError):
        finder.find(tmp_path / "none.gguf")


@pytest.mark.timeout(20)
def test_a_pipe_in_place_of_a_record_is_not_waited_for(finder: Finder, write_model: WriteModel) -> None:
    path = write_model(Q8_0)
    first = finder.find(path)
    (kept,) = finder.folder.iterdir()
    kept.unlink()
    os.mkfifo(kept)
    assert finder.find(path) == first
