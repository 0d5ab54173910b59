"""From what the user set to how both models are loaded here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from rich.filesize import decimal

from specdesk.engine.build import devices
from specdesk.engine.build_facts import Device
from specdesk.engine.build_limits import refuse_unfit
from specdesk.engine.cores import best_threads, most_threads
from specdesk.engine.load_options import LoadOptions
from specdesk.engine.model_size import read_size
from specdesk.engine.native.ik.cache import CACHE_TYPES
from specdesk.engine.placement import ALL, Layers, place, told
from specdesk.engine.profiles import Profiles
from specdesk.engine.tuning.tuned import Tuned
from specdesk.engine.tuning.tuned_records import TunedRecord, TunedRecords
from specdesk.engine.weights import supports_gpu
from specdesk.errors import ModelError, UsageError
from specdesk.memory import CacheType, CacheTypes, ModelSize
from specdesk.settings import EngineSettings, LoadMode, NativeLibrary

Notify = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Loading:
    """What is loaded, and how."""

    draft: Path | None
    target_options: LoadOptions
    draft_options: LoadOptions
    tuned: Tuned
    """What of that comes from `specdesk tune`."""


def as_given(settings: EngineSettings, notify: Notify) -> Loading:
    """The settings as they can be honoured; `notify` gets a line for each that is honoured in part.

    Raises UsageError for one that this build of llama.cpp, or ik_llama.cpp, cannot honour.
    """
    n_threads = _threads(settings.n_threads, notify)
    if settings.engine is NativeLibrary.IK:
        _check_ik(settings)
    gpus = _gpus() if settings.engine is not NativeLibrary.IK and supports_gpu() else []
    refuse_unfit(settings, gpus)
    layers = _layers(settings, gpus, notify)
    options = LoadOptions(
        settings.n_ctx,
        n_threads,
        layers.target,
        settings.cache_type_k or CacheType.F16,
        settings.cache_type_v or CacheType.F16,
        repack=_repacks(settings, notify),
        native=settings.engine or NativeLibrary.LLAMA,
        placing=settings.placing,
    )
    return Loading(settings.draft, options, replace(options, n_gpu_layers=layers.draft, within_training=True), Tuned())


def as_tuned(settings: EngineSettings, profiles: Profiles, notify: Notify) -> Loading:
    """The same with what `specdesk tune` found for this pair, where the user did not say otherwise.

    Plain decoding of a pair has its settings too: its answers are what speculation is compared with. Exact mode takes
    the draft alone, since thread counts and cache types decide which passes round alike; and so does another library
    than llama.cpp, with which the rest was measured.
    `notify` hears of a draft that is gone. Raises as `as_given`, and ModelError for a file that cannot be read.
    """
    given = as_given(settings, notify)
    record = _record(settings, given, profiles)
    if record is None:
        return given
    tuned = record.tuned if settings.speculate else replace(record.tuned, draft=None)
    if tuned.draft is not None and not tuned.draft.intact:
        notify(
            f"the tuned draft {tuned.draft.file} is gone or was changed: the draft as given is used "
            "(specdesk tune makes it again)"
        )
        tuned = replace(tuned, draft=None)
    if settings.n_threads is not None or (tuned.n_threads or 1) > most_threads():
        tuned = replace(tuned, n_threads=None)
    if settings.cache_type_k is not None:
        tuned = replace(tuned, cache_type_k=None)
    return _applied(given, Tuned(tuned.draft) if settings.exact or settings.engine is NativeLibrary.IK else tuned)


def _record(settings: EngineSettings, given: Loading, profiles: Profiles) -> TunedRecord | None:
    """The record of this pair; None where there is none, or one that was measured with other layers on the GPU."""
    if settings.draft is None or not (settings.speculate or settings.draft.is_file()):
        return None
    record = TunedRecords(settings.target, settings.draft, profiles).get()
    layers = (given.target_options.n_gpu_layers, given.draft_options.n_gpu_layers)
    return record if record is not None and (record.n_gpu_layers, record.draft_n_gpu_layers) == layers else None


def _applied(given: Loading, tuned: Tuned) -> Loading:
    n_threads = tuned.n_threads or given.target_options.n_threads
    target_options = replace(given.target_options, n_threads=n_threads)
    if tuned.cache_type_k is not None:
        target_options = replace(target_options, cache_type_k=tuned.cache_type_k)
    draft = given.draft if tuned.draft is None else Path(tuned.draft.file)
    return Loading(draft, target_options, replace(given.draft_options, n_threads=n_threads), tuned)


def _threads(wanted: int | None, notify: Notify) -> int:
    if wanted is None:
        return best_threads()
    most = most_threads()
    if wanted > most:
        notify(f"--threads {wanted}: this process may use {most} CPUs, so {most} threads are used")
    return min(wanted, most)


def _check_ik(settings: EngineSettings) -> None:
    """Raises UsageError for caches that ik_llama.cpp has not."""
    for flag, kind in (("--cache-type-k", settings.cache_type_k), ("--cache-type-v", settings.cache_type_v)):
        if kind is not None and kind not in CACHE_TYPES:
            raise UsageError(f"{flag} {kind}: ik_llama.cpp caches as {' and '.join(CACHE_TYPES)} only")


def _repacks(settings: EngineSettings, notify: Notify) -> bool:
    """Whether weights may be laid out anew."""
    if settings.engine is not NativeLibrary.IK or settings.placing.load_mode is not LoadMode.MAP:
        return True
    notify("--load-mode map: weights are not laid out anew then, and ik_llama.cpp's wide passes cost more")
    return False


def _layers(settings: EngineSettings, gpus: Sequence[Device], notify: Notify) -> Layers:
    """As wanted, and else as many as fit: for a draft that is not loaded too, so that plain decoding has the same."""
    if not gpus:
        return Layers(0, 0)
    wanted = {"--gpu-layers": settings.n_gpu_layers, "--draft-gpu-layers": settings.draft_n_gpu_layers}
    target, draft = _size(settings.target), None if settings.draft is None else _size(settings.draft)
    if settings.placing.main_gpu is not None:
        gpus = gpus[settings.placing.main_gpu :][:1]
    types = CacheTypes(settings.cache_type_k or CacheType.F16, settings.cache_type_v or CacheType.F16)
    wants = {"wanted": settings.n_gpu_layers, "draft_wanted": settings.draft_n_gpu_layers}
    layers = place(target, draft, gpus, settings.n_ctx, types, **wants)
    for (flag, n), model, chosen in zip(wanted.items(), (target, draft), (layers.target, layers.draft), strict=True):
        if n is None and model is not None and chosen != ALL:
            names = " and ".join(gpu.name for gpu in gpus)
            free = decimal(sum(gpu.free_bytes for gpu in gpus))
            notify(f"{told(chosen, model)} of the {_ROLES[flag]} go to {names}, {free} free there ({flag} N decides)")
    return layers


_ROLES: Final = {"--gpu-layers": "target", "--draft-gpu-layers": "draft"}


def _size(path: Path) -> ModelSize:
    """Nothing known of a file that cannot be read: loading it says why."""
    try:
        return read_size(path)
    except ModelError:
        return ModelSize(0, 0, 0)


def _gpus() -> list[Device]:
    return [device for device in devices() if device.takes_layers]
