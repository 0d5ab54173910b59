"""Asks this machine. The engine is asked in a process of its own, which may die of it."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from pathlib import Path
from typing import Final

import psutil

from specdesk import __version__, paths
from specdesk.doctor.facts import Engine, Facts, Hub, PairFacts
from specdesk.engine.client import ask_build, best_threads, install_command, most_threads, seen_gpus
from specdesk.errors import EngineDiedError, EngineMissingError
from specdesk.hub.artifacts import Pair
from specdesk.hub.here.fit import free_memory
from specdesk.hub.here.inventory import pair_state
from specdesk.hub.here.on_disk import missing_files
from specdesk.hub.manifest import DEFAULT_ALIAS, Manifest
from specdesk.hub.sources.reach import reach_hub
from specdesk.system_memory import system_memory

_HIDING: Final = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GGML_VK_VISIBLE_DEVICES")


def gather(manifest: Manifest, n_ctx: int) -> Facts:
    """All facts, with what pairs need for a context of `n_ctx` tokens.

    Takes as long as llama.cpp takes to load, and up to 10 s where the hub does not answer.
    Raises StorageError where there is no home directory, or the disk does not say which models are here.
    """
    folder = paths.models_dir()
    there = paths.existing(folder)
    seen = seen_gpus()
    reach = reach_hub(manifest.pair(DEFAULT_ALIAS).draft)
    return Facts(
        specdesk=__version__,
        python=platform.python_version(),
        executable=sys.executable,
        system=platform.system(),
        architecture=platform.machine(),
        engine=_engine(),
        gpus=seen.gpus,
        gpu_problem=seen.problem,
        hidden_by=next((f"{name}={os.environ[name]}" for name in _HIDING if name in os.environ), ""),
        n_cores=psutil.cpu_count(logical=False) or 0,
        n_usable=most_threads(),
        n_threads=best_threads(),
        memory_free_bytes=free_memory(),
        memory_total_bytes=system_memory().total,
        models_dir=str(folder),
        models_problem=_problem(next(place for place in (folder, *folder.parents) if os.path.lexists(place))),
        disk_free_bytes=shutil.disk_usage(there).free,
        hub=Hub(reach.hub, reach.problem, reach.closed),
        n_ctx=n_ctx,
        pairs=tuple(_pair(pair, n_ctx) for pair in manifest.pairs),
    )


def _engine() -> Engine:
    install = install_command("{options}")
    try:
        return Engine(ask_build(), "", "", install)
    except EngineMissingError as error:
        return Engine(None, error.message, error.hint, install)
    except EngineDiedError as error:
        last = f"; its last words: {error.log[-1]}" if error.log else ""
        return Engine(
            None, f"{error.message} while llama.cpp was loaded{last}", f"compile it again: {install_command()}", install
        )


def _problem(existing: Path) -> str:
    """Why files cannot be put below what there is of a path to be."""
    if not existing.exists():
        return f"{existing} is a link to {existing.readlink()}, which is not there"
    if not existing.is_dir():
        return f"{existing} is no folder"
    return "" if os.access(existing, os.W_OK | os.X_OK) else f"{existing} may not be written"


def _pair(pair: Pair, n_ctx: int) -> PairFacts:
    needed = pair.memory_bytes(n_ctx)
    return PairFacts(
        pair.name,
        pair.summary,
        pair_state(pair).presence,
        pair.size_bytes,
        pair.target.size_bytes,
        needed,
        sum(artifact.memory.gpu_bytes(n_ctx) for artifact in pair.artifacts),
        needed - pair.memory_bytes(0),
        " + ".join(dict.fromkeys(artifact.licence for artifact in pair.artifacts)),
        all(artifact.wheels is not None for artifact in pair.artifacts if missing_files(artifact)),
    )
