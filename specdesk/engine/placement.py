"""How many layers of both models go to GPUs: a pure function of sizes and of the memory that is free there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from specdesk.engine.build_facts import Device
from specdesk.memory import CacheTypes, ModelSize

ALL: Final = -1
_SPARE: Final = 0.1
"""The part of the free memory that is left alone: for what drivers take, and what estimates miss."""
_GRAIN: Final = 2**28
"""Free memory counts in steps of this, so that the same models mostly get the same layers: what passes cost is measured
anew for other ones."""


@dataclass(frozen=True, slots=True)
class Layers:
    """How many go to GPUs; -1: all of them."""

    target: int
    draft: int


def place(
    target: ModelSize,
    draft: ModelSize | None,
    devices: Sequence[Device],
    n_ctx: int,
    types: CacheTypes,
    *,
    wanted: int | None = None,
    draft_wanted: int | None = None,
) -> Layers:
    """As many as fit into the memory that is free on `devices`, all together, of the draft first.

    Each of its steps waits for all of the draft, and it is small. What is wanted is taken as it is and counts first.
    All go there where devices do not say what is free, or a model not how many layers it has: llama.cpp then tells what
    does not fit.
    """
    total = sum(device.free_bytes for device in devices)
    room = int(total * (1 - _SPARE)) // _GRAIN * _GRAIN
    draft_ctx = n_ctx if draft is None else min(n_ctx, draft.n_ctx_train or n_ctx)
    if wanted is not None:
        room -= _bytes(target, wanted, n_ctx, types)
    draft_layers = 0
    if draft is not None:
        draft_layers = _most(draft, room, total, draft_ctx, types) if draft_wanted is None else draft_wanted
        room -= _bytes(draft, draft_layers, draft_ctx, types)
    return Layers(_most(target, room, total, n_ctx, types) if wanted is None else wanted, draft_layers)


def told(layers: int, model: ModelSize) -> str:
    """How many of the layers, in words."""
    return f"{layers} of {_n_movable(model)} layers"


def _most(model: ModelSize, room: int, total: int, n_ctx: int, types: CacheTypes) -> int:
    if total == 0 or model.n_layers == 0 or _bytes(model, ALL, n_ctx, types) <= room:
        return ALL
    fitting = [n for n in range(1, _n_movable(model)) if _bytes(model, n, n_ctx, types) <= room]
    return max(fitting, default=0)


def _bytes(model: ModelSize, layers: int, n_ctx: int, types: CacheTypes) -> int:
    """What so many layers take on a GPU: their part of weights and cache, and what passes compute with."""
    if layers == 0:
        return 0
    parts = _n_movable(model)
    n = parts if layers == ALL else min(layers, parts)
    return (model.weights_bytes + model.cache_bytes(n_ctx, types)) * n // parts + model.gpu_buffer_bytes


def _n_movable(model: ModelSize) -> int:
    """llama.cpp counts what makes logits of the last layer as one more."""
    return model.n_layers + 1
