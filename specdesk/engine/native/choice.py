"""Which native library is to compute a pair here: each is measured once, in a process of its own, and it is kept."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Final

from specdesk.core.costs import PairCosts
from specdesk.core.tuning import Candidate, fastest, pace
from specdesk.engine.calibrate import find_pair_costs
from specdesk.engine.child import ChildDiedError, in_child
from specdesk.engine.llama import LlamaLM
from specdesk.engine.machine import setting
from specdesk.engine.native.ik.binding import ik_library
from specdesk.engine.profiles import Profiles
from specdesk.engine.resolve import as_tuned
from specdesk.engine.stop import StopFlag
from specdesk.errors import SpecdeskError
from specdesk.paths import profiles_dir
from specdesk.settings import EngineSettings, NativeLibrary

_STANDING: Final = tuple(0.8**k for k in range(1, 9))
"""How likely the first, the first two, ... tokens of a draft stand, in texts of no particular kind."""
_DEPTH: Final = 256
"""Tokens of context for which speeds are compared."""
_KIND: Final = "engine"


def choose(settings: EngineSettings, notify: Callable[[str], None], stop: StopFlag) -> NativeLibrary:
    """The library with more expected tokens per second; `notify` hears which, and why.

    Measuring loads the models once with each, the first time for this pair and machine. What the second library cannot
    do, and a process that it brings to its end, means llama.cpp. Raises Interrupted if stopped.
    """
    with_ik = replace(settings, engine=NativeLibrary.IK)
    profiles = Profiles(profiles_dir(), notify)
    try:
        _check(settings, profiles)
        options = as_tuned(with_ik, profiles, _silent).target_options
        ik_library()
        key = {
            **setting(settings.target, options),
            "draft": None if settings.draft is None else setting(settings.draft, options),
            "speculates": settings.speculate and settings.asks_draft,
        }
    except SpecdeskError as error:
        notify(f"--engine auto: llama.cpp, since {error.message}")
        return NativeLibrary.LLAMA
    paces = _read(profiles.get(_KIND, key))
    if paces is None:
        notify("--engine auto: measuring llama.cpp and ik_llama.cpp, once on this machine")
        found = [_pace(settings, engine, stop) for engine in NativeLibrary]
        for said in found:
            if isinstance(said, str):
                notify(f"--engine auto: llama.cpp, since {said}")
                return NativeLibrary.LLAMA
        paces = [speed for speed in found if isinstance(speed, float)]
        profiles.put(_KIND, key, paces)
    chosen = list(NativeLibrary)[fastest([Candidate(speed, changes) for changes, speed in enumerate(paces)])]
    speeds = ", ".join(f"{engine.full_name} {speed:.1f}" for engine, speed in zip(NativeLibrary, paces, strict=True))
    notify(f"--engine auto: {chosen.full_name}, by expected tokens per second ({speeds})")
    return chosen


def _check(settings: EngineSettings, profiles: Profiles) -> None:
    """Raises SpecdeskError, with the reason, where there is nothing to choose."""
    if settings.exact:
        raise SpecdeskError("exact mode has other costs, and no choice is made for it")
    loading = as_tuned(replace(settings, engine=NativeLibrary.LLAMA), profiles, _silent)
    if loading.target_options.n_gpu_layers or loading.draft_options.n_gpu_layers:
        raise SpecdeskError("layers go to a GPU")


def _pace(settings: EngineSettings, engine: NativeLibrary, stop: StopFlag) -> float | str:
    """Expected tokens per second; or, in words, why there is no telling."""
    try:
        costs = in_child(measured, (replace(settings, engine=engine),), stop)
    except ChildDiedError as error:
        return f"{engine.full_name} ended its process with code {error.code}"
    return costs if isinstance(costs, str) else pace(costs, _STANDING, _DEPTH)


def measured(settings: EngineSettings) -> PairCosts | str:
    """What passes cost with the library of the settings, kept as any load finds it; or why it cannot be told."""
    profiles = Profiles(profiles_dir(), _silent)
    try:
        loading = as_tuned(settings, profiles, _silent)
        with ExitStack() as models:
            target = models.enter_context(LlamaLM(settings.target, loading.target_options, StopFlag()))
            draft = None
            if loading.draft is not None and settings.speculate and settings.asks_draft:
                draft = models.enter_context(LlamaLM(loading.draft, loading.draft_options, StopFlag()))
            return find_pair_costs(target, draft, profiles, _silent)
    except SpecdeskError as error:
        return error.message


def _read(kept: Any) -> list[float] | None:
    """The record as it was kept; None if it is not one."""
    valid = isinstance(kept, list) and len(kept) == len(NativeLibrary) and all(isinstance(pace, float) for pace in kept)
    return kept if valid else None


def _silent(_text: str) -> None:
    """What is measured here is said by who asks for it."""
