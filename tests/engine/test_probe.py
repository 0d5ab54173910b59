"""What the probe looks at: models that round otherwise in one respect only, each of which it must notice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
import pytest
from numpy.typing import NDArray

from specdesk.core.lm import Logits
from specdesk.engine import invariance
from specdesk.engine.cache_settings import CacheSettings, Invariance
from specdesk.engine.invariance import MAX_WIDTH
from specdesk.engine.load_options import LoadOptions
from specdesk.engine.stop import StopFlag

OPTIONS = LoadOptions(4096, 2, 0)


@dataclass(frozen=True)
class Pass:
    """Where a pass stands: the cells in use, its tokens, and the place of a token in it."""

    used: int
    width: int
    row: int

    @property
    def depth(self) -> int:
        """Cells in use before the pass."""
        return self.used - self.width

    @property
    def crosses(self) -> bool:
        """Whether it reaches over a multiple of 256 cells."""
        return self.depth // 256 != (self.used - 1) // 256


Fault = Callable[[Pass], bool]


class Rounding:
    """Logits and cells are a function of the text, but for one bit where the fault says so."""

    most_cut: int | None = None
    takes_copies = True
    logits: Fault = staticmethod(lambda _: False)
    cell: Fault = staticmethod(lambda _: False)

    def __init__(self, path: Path, options: LoadOptions, stop: StopFlag) -> None:
        self.ids: list[int] = []
        self.n_vocab = 50
        self._cells: list[int] = []
        self._others = 0

    def extend(self, ids: Sequence[int], n_rows: int) -> Logits:
        used = self._others + len(self.ids) + len(ids)
        places = [Pass(used, len(ids), row) for row in range(len(ids))] if n_rows else []
        rows = np.zeros((n_rows, self.n_vocab), np.float32)
        for place, token in zip(places, ids, strict=False):
            rows[place.row, token] = 1.0
            if self.logits(place):
                rows[place.row, 0] = np.nextafter(rows[place.row, 0], np.float32(1))
        self._cells += [2 * token + bool(places and self.cell(places[row])) for row, token in enumerate(ids)]
        self.ids += ids
        return rows

    def truncate(self, length: int) -> None:
        del self.ids[length:], self._cells[length:]

    def cells(self) -> NDArray[np.uint8]:
        return np.array(self._cells, np.uint8)

    def put_cells(self, cells: NDArray[np.uint8], sequence: int) -> None:
        self._others += cells.size

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None: ...


def width_with(monkeypatch: pytest.MonkeyPatch, *, logits: Fault | None = None, cell: Fault | None = None) -> int:
    class Model(Rounding):
        pass

    if logits is not None:
        Model.logits = staticmethod(logits)
    if cell is not None:
        Model.cell = staticmethod(cell)
    monkeypatch.setattr(invariance, "LlamaLM", Model)
    return invariance._widest(Path("model.gguf"), OPTIONS, StopFlag())


def test_without_a_fault_every_width_that_is_tried_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    assert width_with(monkeypatch) == MAX_WIDTH


@pytest.mark.parametrize("n_ctx", [16, 41, 262, 300, 1000, 8192, 200_000, 2**20])
def test_any_context_is_probed_nearly_to_its_end(monkeypatch: pytest.MonkeyPatch, n_ctx: int) -> None:
    """The last 256 cells, which are one case for the kernels; less exactly where only long copies reach that far."""
    monkeypatch.setattr("tests.engine.test_probe.OPTIONS", replace(OPTIONS, n_ctx=n_ctx))
    used: list[int] = []

    def note(at: Pass) -> bool:
        used.append(at.used)
        return False

    assert width_with(monkeypatch, logits=note) == MAX_WIDTH
    end = n_ctx - 260 if n_ctx < 250 * 255 else min(n_ctx - 1110, 254 * 1100)
    assert end <= max(used) <= n_ctx


@pytest.mark.parametrize(("n_ctx", "width"), [(1109, MAX_WIDTH), (2048, 1)])
def test_what_takes_no_copies_is_invariant_only_where_all_of_the_context_was_read(
    monkeypatch: pytest.MonkeyPatch, n_ctx: int, width: int
) -> None:
    monkeypatch.setattr("tests.engine.test_probe.OPTIONS", replace(OPTIONS, n_ctx=n_ctx))
    monkeypatch.setattr(Rounding, "takes_copies", False)
    assert width_with(monkeypatch) == width


@pytest.mark.parametrize("width", range(2, MAX_WIDTH + 1))
def test_the_limit_is_the_width_before_the_first_that_differs(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    assert width_with(monkeypatch, logits=lambda at: at.width == width) == width - 1


@pytest.mark.parametrize(
    "fault",
    [
        lambda at: at.width == 4 and at.row == 0,
        lambda at: at.width == 4 and at.row == 2,
        lambda at: at.width == 4 and at.row == 3,
        lambda at: at.width >= 4 and at.depth < 256,
        lambda at: at.width >= 4 and 256 <= at.depth < 512 and not at.crosses,
        lambda at: at.width >= 4 and 512 <= at.depth < 700,
        lambda at: at.width >= 4 and 1024 < at.depth < 1200,
        lambda at: at.width >= 4 and at.used > 2100,
        lambda at: at.width >= 4 and at.used > 3840,
        lambda at: at.width >= 4 and at.crosses and at.used < 300,
        lambda at: at.width >= 4 and at.crosses and 500 < at.used < 600,
        lambda at: at.width >= 4 and at.crosses and 1000 < at.used < 1100,
    ],
)
def test_a_difference_in_one_place_is_noticed(monkeypatch: pytest.MonkeyPatch, fault: Fault) -> None:
    """In one row, at one depth, across one border: in the logits, and where only the cache shows it."""
    assert width_with(monkeypatch, logits=fault) == 3
    assert width_with(monkeypatch, cell=fault) == 3


def chosen(monkeypatch: pytest.MonkeyPatch, widths: dict[CacheSettings, int], options: LoadOptions) -> Invariance:
    """What is chosen where settings have these widths; the others must not be tried."""
    tried = {options.cached(settings): width for settings, width in widths.items()}
    monkeypatch.setattr(invariance, "_widest", lambda _path, how, _stop: tried[how])
    return invariance._probe_choices(Path("model.gguf"), options, StopFlag())


GIVEN, MIXED = invariance._AS_GIVEN, invariance._MIXED
GIVEN_BARE, MIXED_BARE = replace(GIVEN, repack=False), replace(MIXED, repack=False)


@pytest.mark.parametrize(
    ("widths", "best", "width"),
    [
        ({GIVEN: 9}, GIVEN, 9),
        ({GIVEN: 3, MIXED: 5}, MIXED, 5),
        ({GIVEN: 3, MIXED: 3}, GIVEN, 3),
        ({GIVEN: 1, MIXED: 2}, MIXED, 2),
        ({GIVEN: 1, MIXED: 1, GIVEN_BARE: 2}, GIVEN_BARE, 2),
        ({GIVEN: 1, MIXED: 1, GIVEN_BARE: 1, MIXED_BARE: 7}, MIXED_BARE, 7),
        ({GIVEN: 1, MIXED: 1, GIVEN_BARE: 1, MIXED_BARE: 1}, GIVEN, 1),
    ],
)
def test_the_widest_that_costs_least_is_chosen(
    monkeypatch: pytest.MonkeyPatch, widths: dict[CacheSettings, int], best: CacheSettings, width: int
) -> None:
    assert chosen(monkeypatch, widths, OPTIONS) == Invariance(best, width, OPTIONS.n_ctx)


def test_on_a_gpu_only_the_settings_as_given_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    options = replace(OPTIONS, n_gpu_layers=-1)
    assert chosen(monkeypatch, {GIVEN: 1}, options) == Invariance(GIVEN, 1, OPTIONS.n_ctx)
