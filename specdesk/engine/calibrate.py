"""Measures what a model's passes cost on this machine, once, and keeps it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, Final

import numpy as np

from specdesk.core.costs import PairCosts, PassCosts
from specdesk.engine.llama import LlamaLM
from specdesk.engine.machine import setting
from specdesk.engine.profiles import Profiles

TARGET_SIZES: Final = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 24, 32)
"""Tokens of a target pass that are measured: each step of the staircase up to 8, its ends beyond."""
DRAFT_SIZES: Final = (1, 2, 3, 4, 8, 32, 128)
"""Those of a draft model, which steps token by token and reads what it missed in one go."""

_ROUNDS: Final = 2
_SHALLOW: Final = 16
"""Tokens in the cache for the first measurement."""
_UNIT: Final = 112
"""Tokens that are read, and copied `_COPIES` times, to fill the cache for the second."""
_COPIES: Final = 8
_DEEP: Final = _UNIT * (1 + _COPIES)
_READ: Final = 4 * _UNIT
"""The same where a cache takes no copies, and as many have to be read."""
_GROWING: Final = (1, 8, 16)
"""Sizes whose growth is measured; between them it is in proportion, beyond them as for the largest."""

_WORTH_A_WORD_S: Final = 1.0

_KIND: Final = "costs"


def find_pair_costs(
    target: LlamaLM, draft: LlamaLM | None, profiles: Profiles, notify: Callable[[str], None]
) -> PairCosts:
    """What the passes of both models cost. Raises as `find_costs` does."""
    return PairCosts(
        find_costs(target, TARGET_SIZES, profiles, notify, every_row=True),
        None if draft is None else find_costs(draft, DRAFT_SIZES, profiles, notify, every_row=False),
    )


def find_costs(
    lm: LlamaLM, sizes: Sequence[int], profiles: Profiles, notify: Callable[[str], None], *, every_row: bool
) -> PassCosts:
    """What passes of `sizes` cost: from the profile, or measured in some seconds and kept there.

    With `every_row` a pass gives the logits of all its tokens, else of the last.
    Raises: Interrupted if stopped; GenerationError when llama.cpp fails.
    """
    key = {**setting(lm.path, lm.options), "sizes": sizes, "depths": [_SHALLOW, _DEEP], "every_row": every_row}
    known = _read(profiles.get(_KIND, key), tuple(sizes))
    if known is not None:
        return known
    found = measure(lm, sizes, notify, every_row=every_row)
    profiles.put(_KIND, key, asdict(found))
    return found


def measure(
    lm: LlamaLM,
    sizes: Sequence[int],
    notify: Callable[[str], None],
    *,
    every_row: bool,
    clock: Callable[[], float] = time.perf_counter,
) -> PassCosts:
    """Measure passes of the model on a cache of their own; `notify` hears how long it will take, if that is long.

    `clock` counts seconds.
    """
    ids = np.random.default_rng(0).integers(lm.n_vocab, size=_READ + sizes[-1]).tolist()

    def seconds(cache: LlamaLM, wanted: Sequence[int]) -> list[float]:
        """The least of each size, the sizes taking turns: the machine's speed drifts, and what disturbs only adds."""
        start = len(cache.ids)
        taken: dict[int, list[float]] = {size: [] for size in wanted}
        for _ in range(_ROUNDS):
            for size in wanted:
                began = clock()
                cache.extend(ids[start : start + size], size if every_row else 1)
                taken[size].append(clock() - began)
                cache.truncate(start)
        return [min(taken[size]) for size in wanted]

    with lm.beside(_DEEP + sizes[-1], 1 + _COPIES) as cache:
        cache.extend(ids[:_SHALLOW], 0)
        # The first passes wake the threads and the memory up, and tell how long all of it will take.
        narrow, wide = seconds(cache, (1, sizes[-1]))
        expected_s = _ROUNDS * len(sizes) * (narrow + wide) / 2 + (4 if cache.takes_copies else 16) * wide
        if expected_s > _WORTH_A_WORD_S:
            notify(f"measuring what passes of {lm.path.name} cost, once on this machine: about {expected_s:.0f} s")
        base = seconds(cache, sizes)
        depth = _deepened(cache, ids)
        growing = [size for size in _GROWING if size in sizes]
        deep = seconds(cache, growing)
    shallow = [base[sizes.index(size)] for size in growing]
    slopes = [max(0.0, (d - s) / (depth - _SHALLOW)) for d, s in zip(deep, shallow, strict=True)]
    return PassCosts(tuple(sizes), tuple(base), tuple(np.interp(sizes, growing, slopes).tolist()))


def _deepened(cache: LlamaLM, ids: Sequence[int]) -> int:
    """Fill the cache, which holds the first few of `ids`, for the second measurement; how many tokens it holds then."""
    if not cache.takes_copies:
        cache.extend(ids[_SHALLOW:_READ], 0)
        return _READ
    cache.extend(ids[_SHALLOW:_UNIT], 0)
    cells = cache.cells()
    for copy in range(1, 1 + _COPIES):
        cache.put_cells(cells, copy)
    return _DEEP


def _read(kept: Any, sizes: tuple[int, ...]) -> PassCosts | None:
    """The record as it was kept; None if it is not one."""
    try:
        if tuple(kept["sizes"]) != sizes:
            return None
        return PassCosts(sizes, tuple(kept["base_s"]), tuple(kept["growth_s"]))
    except (TypeError, KeyError, ValueError):
        return None
