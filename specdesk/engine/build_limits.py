"""What a build of llama.cpp cannot honour, whatever the models."""

from __future__ import annotations

from collections.abc import Sequence

from specdesk.engine.build_facts import Device
from specdesk.engine.gpus import seen_gpus
from specdesk.engine.requirement import BUILD_OPTIONS, install_command
from specdesk.errors import UsageError
from specdesk.settings import EngineSettings, NativeLibrary


def wants_gpu(settings: EngineSettings) -> bool:
    """Whether anything is asked for that not every build can do."""
    placing = settings.placing
    layers = settings.n_gpu_layers or settings.draft_n_gpu_layers
    return bool(layers or placing.main_gpu is not None or placing.tensor_split)


def refuse_unfit(settings: EngineSettings, gpus: Sequence[Device]) -> None:
    """Raises UsageError for layers on a GPU, or one GPU among several, that the build cannot use; it can use `gpus`."""
    if settings.engine is NativeLibrary.IK:
        _refuse_on_ik(settings)
    _refuse_placing(settings, gpus)
    for flag, n in (("--gpu-layers", settings.n_gpu_layers), ("--draft-gpu-layers", settings.draft_n_gpu_layers)):
        if n and not gpus:
            raise _no_gpu(f"{flag} {n}")


def _refuse_on_ik(settings: EngineSettings) -> None:
    placing = settings.placing
    for flag, given in (
        ("--gpu-layers", settings.n_gpu_layers),
        ("--draft-gpu-layers", settings.draft_n_gpu_layers),
        ("--main-gpu", placing.main_gpu is not None),
        ("--tensor-split", placing.tensor_split),
    ):
        if given:
            raise UsageError(f"{flag}: ik_llama.cpp, as packaged, puts no layers on a GPU", "that takes --engine llama")


def _refuse_placing(settings: EngineSettings, gpus: Sequence[Device]) -> None:
    placing = settings.placing
    asked = f"--main-gpu {placing.main_gpu}" if placing.main_gpu is not None else ""
    if placing.tensor_split:
        if asked:
            raise UsageError(f"{asked} and --tensor-split exclude each other", "one puts all on one GPU")
        asked = f"--tensor-split {','.join(f'{share:g}' for share in placing.tensor_split)}"
    if not asked:
        return
    if not gpus:
        raise _no_gpu(asked)
    if max(placing.main_gpu or 0, len(placing.tensor_split) - 1) >= len(gpus):
        names = ", ".join(gpu.name for gpu in gpus)
        raise UsageError(f"{asked}: llama.cpp sees {len(gpus)} here: {names}", "they are counted from 0")


def _no_gpu(asked: str) -> UsageError:
    """Why what is asked cannot be had, and what to do, by what the system shows."""
    gpus = seen_gpus().gpus
    hint = (
        f"for {gpus[0].name} compile one that can: {install_command(BUILD_OPTIONS[gpus[0].maker])}"
        if gpus
        else "the system shows no GPU either: leave the option out; specdesk doctor tells what is here"
    )
    return UsageError(f"{asked}: this build of llama.cpp cannot put layers on a GPU", hint)
