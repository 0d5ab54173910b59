"""Is there memory for what is to be loaded? Asked before it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from rich.filesize import decimal

from specdesk.engine.load_options import LoadOptions
from specdesk.engine.model_size import read_size
from specdesk.errors import ModelError
from specdesk.memory import CacheTypes, needed_bytes
from specdesk.system_memory import system_memory

_LESS = "less: a smaller --ctx, --cache-type-k q8_0 --cache-type-v q8_0, a smaller pair; specdesk doctor lists them"


def check_memory(models: Sequence[tuple[Path, LoadOptions]], notify: Callable[[str], None]) -> None:
    """Say where models, a target and perhaps its draft, need more memory than is free: the system will swap or end it.

    Models with layers on a GPU are left out: they were counted there. Raises ModelError where the others need more
    than the system has at all, swap included.
    """
    counted = [(path, options) for path, options in models if options.n_gpu_layers == 0]
    if not counted:
        return
    paths, options = [path for path, _ in counted], counted[0][1]
    try:
        sizes = [read_size(path) for path in paths]
    except ModelError:  # loading says better what is wrong with a file
        return
    needed = needed_bytes(sizes, options.n_ctx, CacheTypes(options.cache_type_k, options.cache_type_v))
    memory = system_memory()
    names = " and ".join(path.name for path in paths)
    what = f"{names} take about {decimal(needed)} with a context of {options.n_ctx:,} tokens"
    everything = memory.total + memory.swap
    if needed > everything:
        raise ModelError(f"{what}, and there are {decimal(everything)} here, swap included", _LESS)
    if needed > memory.available:
        notify(f"{what}, and {decimal(memory.available)} are free: close other programs, or ask for {_LESS}")
