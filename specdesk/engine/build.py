"""Asks the loaded llama.cpp what it is and which devices it sees."""

from __future__ import annotations

import ctypes
import re
from typing import Any, Final

# Before llama_cpp: it sets what ggml reads when it is loaded.
import specdesk.engine.native_log  # noqa: F401 # isort: skip

import llama_cpp
from llama_cpp import _ggml

from specdesk.engine.build_facts import BuildFacts, Device, DeviceKind

_KINDS: Final = (DeviceKind.CPU, DeviceKind.GPU, DeviceKind.INTEGRATED_GPU, DeviceKind.ACCELERATOR)
"""In the order of ggml_backend_dev_type."""
_SIZE: Final = ctypes.c_size_t
_POINTER: Final = ctypes.c_void_p
_TEXT: Final = ctypes.c_char_p


def build_facts() -> BuildFacts:
    """What it tells of itself. Devices are opened for that, as loading a model does."""
    llama_cpp.llama_backend_init()
    return BuildFacts(
        bindings=llama_cpp.__version__,
        ggml=" ".join(filter(None, (_text("ggml_version"), _text("ggml_commit")))),
        backends=_backends(),
        features=features(llama_cpp.llama_print_system_info().decode("utf-8", errors="replace")),
        offloads=bool(llama_cpp.llama_supports_gpu_offload()),
        devices=devices(),
    )


def features(info: str) -> tuple[str, ...]:
    """The names that llama_print_system_info says are on: `CPU : AVX = 1 | FMA = 0 | ...`."""
    return tuple(dict.fromkeys(re.findall(r"(\w+) = 1\b", info)))


def devices() -> tuple[Device, ...]:
    """What ggml sees, the processor among them; empty where it cannot be asked."""
    count, get = _function("ggml_backend_dev_count", _SIZE), _function("ggml_backend_dev_get", _POINTER, _SIZE)
    name = _function("ggml_backend_dev_name", _TEXT, _POINTER)
    describe = _function("ggml_backend_dev_description", _TEXT, _POINTER)
    kind = _function("ggml_backend_dev_type", ctypes.c_int, _POINTER)
    memory = _function("ggml_backend_dev_memory", None, _POINTER, ctypes.POINTER(_SIZE), ctypes.POINTER(_SIZE))
    if not (count and get and name and describe and kind and memory):
        return ()
    found = []
    for index in range(count()):
        device = get(index)
        free, total = _SIZE(), _SIZE()
        memory(device, ctypes.byref(free), ctypes.byref(total))
        number = kind(device)
        found.append(
            Device(
                _decoded(name(device)),
                _decoded(describe(device)),
                _KINDS[number] if 0 <= number < len(_KINDS) else DeviceKind.OTHER,
                free.value,
                total.value,
            )
        )
    return tuple(found)


def _backends() -> tuple[str, ...]:
    count, get = _function("ggml_backend_reg_count", _SIZE), _function("ggml_backend_reg_get", _POINTER, _SIZE)
    name = _function("ggml_backend_reg_name", _TEXT, _POINTER)
    if not (count and get and name):
        return ()
    return tuple(_decoded(name(get(index))) for index in range(count()))


def _text(function: str) -> str:
    call = _function(function, _TEXT)
    return _decoded(call()) if call else ""


def _function(name: str, result: Any, *arguments: Any) -> Any:
    """A function of ggml, with its types; None in a build without it."""
    function = getattr(_ggml.libggml, name, None)
    if function is not None:
        function.restype, function.argtypes = result, list(arguments)
    return function


def _decoded(text: bytes | None) -> str:
    return "" if text is None else text.decode("utf-8", errors="replace")
