"""Which target passes over several tokens compute, bit for bit, what one-token passes compute.

A kernel for several tokens may add in another order than the one for a single token, so that logits differ in their
last bits and a near-tie falls the other way. Whether it does depends on model, machine, build, threads, cache types and
on how full the cache is, but not on the numbers: so it is probed once, and holds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specdesk.engine.cache_settings import CacheSettings, Invariance
from specdesk.engine.llama import LlamaLM
from specdesk.engine.load_options import LoadOptions
from specdesk.engine.machine import setting
from specdesk.engine.profiles import Profiles
from specdesk.engine.stop import StopFlag
from specdesk.errors import ModelError
from specdesk.memory import CacheType
from specdesk.settings import NativeLibrary

MAX_WIDTH = 9
"""Widest pass that is tried: a draft of 8 and the token before it."""

_DEPTHS = (32, 253, 255, 300, 509, 511, 600, 767, 1021, 1023, 1100)
"""Tokens in the cache before the passes compared. llama.cpp looks at a multiple of 256 cells, takes another attention
kernel from 512 on, and a pass may cross such a border: behind its first token, from 255, 511, 767 and 1023, and further
in, from 253, 509 and 1021."""

_MOST_COPIES = 254
"""llama.cpp's limit on sequences is 256."""

_KIND = "exact"

_AS_GIVEN = CacheSettings(CacheType.F16, CacheType.F16, repack=True)
_MIXED = replace(_AS_GIVEN, cache_type_k=CacheType.Q8_0)
"""Keys and values of two types: llama.cpp's one-token pass then keeps to the attention kernel of the wider ones."""
_CHOICES = {
    NativeLibrary.LLAMA: (_AS_GIVEN, _MIXED, replace(_AS_GIVEN, repack=False), replace(_MIXED, repack=False)),
    NativeLibrary.IK: (replace(_AS_GIVEN, repack=False, flash_attention=False),),
}
"""Settings to try, in the order of what they cost. Without repacking every pass is slower (by a quarter for a Q4_K_M
model on an AVX-512 machine), so it is given up only where nothing else has any width. ik_llama.cpp's passes are
invariant without both, as far as was tried, and with neither nor one of them."""


def find_invariance(
    path: Path,
    options: LoadOptions,
    profiles: Profiles,
    notify: Callable[[str], None],
    stop: StopFlag,
    *,
    keeps_types: bool = False,
) -> Invariance:
    """The settings with the widest invariant passes for this model here: from the profile, or probed and kept there.

    With `keeps_types` only the cache types of `options` are tried. Probing loads the model once per choice of settings
    and reads a thousand tokens with it; `notify` hears of it.
    Raises: ModelError for a model that cannot be loaded; Interrupted if stopped.
    """
    key = {**setting(path, options), "probed": {"depths": _DEPTHS, "width": MAX_WIDTH}}
    if keeps_types:
        key["keeps_types"] = True
    known = _read(profiles.get(_KIND, key))
    if known is not None and known.n_ctx >= options.n_ctx:
        return known
    notify(
        f"exact mode: probing {path.name} for passes that round like one-token passes, once on this machine; it takes "
        "as long as reading some 2,000 tokens of prompt"
    )
    found = _probe_choices(path, options, stop, keeps_types=keeps_types)
    profiles.put(_KIND, key, asdict(found))
    return found


def _read(kept: Any) -> Invariance | None:
    """The record as it was kept; None if it is not one."""
    try:
        settings, width, n_ctx = kept["settings"], kept["width"], kept["n_ctx"]
        k, v, repack = (settings[name] for name in ("cache_type_k", "cache_type_v", "repack"))
        flash = settings.get("flash_attention", True)  # older records had no choice
        kinds = ((width, int), (n_ctx, int), (repack, bool), (flash, bool))
        valid = all(isinstance(value, kind) for value, kind in kinds) and 1 <= width <= MAX_WIDTH
        return Invariance(CacheSettings(CacheType(k), CacheType(v), repack, flash), width, n_ctx) if valid else None
    except (AttributeError, TypeError, KeyError, ValueError):
        return None


def _probe_choices(path: Path, options: LoadOptions, stop: StopFlag, *, keeps_types: bool = False) -> Invariance:
    choices = list(_CHOICES[options.native])
    as_given = _AS_GIVEN
    if keeps_types:
        k, v = options.cache_type_k, options.cache_type_v
        as_given = replace(as_given, cache_type_k=k, cache_type_v=v)
        choices = list(dict.fromkeys(replace(choice, cache_type_k=k, cache_type_v=v) for choice in choices))
    # On a GPU another attention takes over, and mixed cache types may fall back to the CPU: only the first is tried.
    if options.n_gpu_layers != 0:
        del choices[1:]
    best = Invariance(as_given, 1, options.n_ctx)
    for settings in choices:
        if best.width == MAX_WIDTH or (best.width > 1 and not settings.repack):
            break
        width = _widest(path, options.cached(settings), stop)
        if width > best.width:
            best = replace(best, settings=settings, width=width)
    return best


def _widest(path: Path, options: LoadOptions, stop: StopFlag) -> int:
    """The widest invariant pass with these settings; 1 where llama.cpp refuses them."""
    last = options.n_ctx - MAX_WIDTH
    depths = sorted({min(_DEPTHS[0], last), *(depth for depth in _DEPTHS if depth <= last)})
    # Short copies come closest to the end of the context, but there can be only so many.
    unit = next((depth for depth in depths[2:] if (last - depths[-1]) // depth <= _MOST_COPIES), depths[-1])
    n_copies = min((last - depths[-1]) // unit, _MOST_COPIES)
    try:
        lm = LlamaLM(path, replace(options, n_sequences=1 + n_copies), stop)
    except ModelError:
        if options.cache_type_k is options.cache_type_v and options.repack:
            raise
        return 1
    with lm:
        # No pass could be compared with another, and nothing can be drafted either; or what is deep in the context
        # could not be looked at.
        if lm.most_cut == 0 or (n_copies and not lm.takes_copies):
            return 1
        ids = np.random.default_rng(0).integers(lm.n_vocab, size=depths[-1] + MAX_WIDTH).tolist()
        width = MAX_WIDTH
        cells = lm.cells()
        for depth in depths:
            lm.extend(ids[len(lm.ids) : depth], 0)
            if depth == unit:
                cells = lm.cells()
            width = _compare(lm, ids[depth : depth + width], width)
            if width == 1:
                return 1
        return _deeper(lm, ids[depths[-1] :], width, cells, n_copies)


def _deeper(lm: LlamaLM, ids: list[int], width: int, cells: NDArray[np.uint8], n_copies: int) -> int:
    """The same with more of the cache in use, at twice as many copies of `cells` each time and with all of them.

    Which kernel runs depends on how much is in use, and not on whose cells they are: copies fill the cache without the
    minutes that reading as much would take.
    """
    for copy in range(1, n_copies + 1):
        lm.put_cells(cells, copy)
        if (copy & (copy - 1) == 0 or copy == n_copies) and width > 1:
            width = _compare(lm, ids[:width], width)
    return width


def _compare(lm: LlamaLM, ids: list[int], widest: int) -> int:
    """The most of `ids` that one pass, and any shorter one, reads exactly as one-token passes do; the cache stays."""
    start = len(lm.ids)
    rows, states = [], []
    for token in ids:
        rows.append(lm.extend([token], 1)[0].copy())
        states.append(_digest(lm))
    width = 1
    while width < widest:
        lm.truncate(start)
        wide = lm.extend(ids[: width + 1], width + 1)
        same = all(np.array_equal(wide[i].view(np.uint32), rows[i].view(np.uint32)) for i in range(width + 1))
        if not same or _digest(lm) != states[width]:
            break
        width += 1
    lm.truncate(start)
    return width


def _digest(lm: LlamaLM) -> bytes:
    return hashlib.sha256(lm.cells().data).digest()
