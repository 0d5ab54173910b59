"""What tells one machine and one model from another, for results that hold only where they were measured."""

from __future__ import annotations

import hashlib
import platform
from pathlib import Path
from typing import Any, Final

import llama_cpp

from specdesk.engine.build import devices
from specdesk.engine.llama import N_BATCH
from specdesk.engine.load_options import LoadOptions
from specdesk.engine.native.ik.binding import installed_version
from specdesk.errors import ModelError
from specdesk.settings import NativeLibrary

_HEAD = 16 * 2**20
"""More than the metadata and the table of tensors take, which decide what is computed and how."""
_CHUNK: Final = 2**16


def machine() -> dict[str, object]:
    """The processor and devices, and the build of llama.cpp that uses them."""
    return {
        "machine": platform.machine(),
        "devices": [device.description for device in devices()],
        "llama_cpp": llama_cpp.__version__,
        "features": llama_cpp.llama_print_system_info().decode("utf-8", errors="replace").strip(" |"),
    }


def setting(path: Path, options: LoadOptions) -> dict[str, object]:
    """What a measurement of a model, loaded like that on this machine, depends on: a key for it, as JSON data.

    The sizes of context and cache are left out. Raises ModelError for a file that cannot be read.
    """
    return {
        **model_identity(path),
        **machine(),
        "n_threads": options.n_threads,
        "n_gpu_layers": options.n_gpu_layers,
        "cache_types": [options.cache_type_k, options.cache_type_v],
        "repack": options.repack,
        "n_batch": N_BATCH,
        **_split(options),
        **_attention(options),
        **native_facts(options.native),
    }


def _split(options: LoadOptions) -> dict[str, object]:
    """Which GPUs take what, where that is not left to llama.cpp."""
    placing = options.placing
    chosen = {"main_gpu": placing.main_gpu, "tensor_split": list(placing.tensor_split)}
    return {name: value for name, value in chosen.items() if value not in (None, [])}


def _attention(options: LoadOptions) -> dict[str, object]:
    """How it is computed, where that is otherwise than mostly: what was measured before there was a choice holds."""
    return {} if options.flash_attention else {"flash_attention": False}


def native_facts(which: NativeLibrary) -> dict[str, object]:
    """What computes, where that is not llama.cpp; as JSON data."""
    return {} if which is NativeLibrary.LLAMA else {"library": which, "ik_llama_cpp_python": installed_version()}


def model_identity(path: Path) -> dict[str, Any]:
    """Size and a hash of the first 16 MiB: reading all of a file of many gigabytes would take longer than loading it.

    Raises ModelError for a file that cannot be read.
    """
    try:
        digest = hashlib.sha256()
        with path.open("rb") as file:
            for _ in range(_HEAD // _CHUNK):
                digest.update(file.read(_CHUNK))
            return {"bytes": path.stat().st_size, "head_sha256": digest.hexdigest()}
    except OSError as error:
        raise ModelError(f"cannot read {path}: {error.strerror}") from error
