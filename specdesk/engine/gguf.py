"""What a GGUF file says of itself, without loading the model."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Before llama_cpp: it sets what ggml reads when it is loaded.
from specdesk.engine.native_log import native_log

import llama_cpp  # isort: skip
from llama_cpp import _ggml

from specdesk.errors import ModelError


@dataclass(frozen=True, slots=True)
class Tensors:
    """The tensors of a file, all together."""

    types: frozenset[int]
    """ggml's numbers of the types that occur, F32 left out: every format keeps its small tensors as that."""
    n_weights: int
    """Numbers in all tensors, F32 ones included."""
    header_bytes: int
    """Metadata and the table of tensors."""


class _InitParams(ctypes.Structure):
    _fields_ = (("no_alloc", ctypes.c_bool), ("ctx", ctypes.c_void_p))


def check_gguf(path: Path) -> None:
    """Refuse early, and in plain words, what llama.cpp would refuse at length. Raises ModelError."""
    try:
        if path.is_dir():
            raise ModelError(f"{path} is a folder", "name a .gguf file in it")
        if path.exists() and not path.is_file():
            raise ModelError(f"{path} is no regular file", "a pipe or a device cannot be loaded")
        with path.open("rb") as file:
            head = file.read(24)
    except FileNotFoundError:
        raise ModelError(
            f"there is no file {path}", "check the path, or fetch a pair with: specdesk download"
        ) from None
    except OSError as error:
        raise ModelError(f"cannot read {path}: {error.strerror}") from error
    if head[:4] != b"GGUF":
        raise ModelError(f"{path} is not a GGUF file", "it does not begin with the letters GGUF")
    if len(head) < 24:
        raise ModelError(f"{path} is cut off inside its header ({len(head)} bytes)", "download it again")


def read_tensors(path: Path) -> Tensors:
    """Raises ModelError for a file that is missing or no GGUF file, and where this build of ggml cannot tell."""
    types = set()
    n_weights = 0
    with opened(path) as (library, file):
        for index in range(library.gguf_get_n_tensors(file)):
            kind = library.gguf_get_tensor_type(file, index)
            size = library.gguf_get_tensor_size(file, index)
            n_weights += size // library.ggml_type_size(kind) * library.ggml_blck_size(kind)
            types.add(kind)
        return Tensors(frozenset(types - {llama_cpp.GGML_TYPE_F32}), n_weights, library.gguf_get_data_offset(file))


@contextmanager
def opened(path: Path) -> Iterator[tuple[Any, int]]:
    """ggml, whose functions below can be called, and the handle of a file's metadata. Raises as `read_tensors`."""
    check_gguf(path)
    native_log.clear()
    library = _ggml.libggml
    try:
        for name, result, arguments in _FUNCTIONS:
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except AttributeError as error:
        raise ModelError(f"this build of llama.cpp cannot read the tensors of {path.name}: {error}") from error
    file = library.gguf_init_from_file(os.fsencode(path), _InitParams(True, None))
    if not file:
        raise ModelError(f"llama.cpp cannot read {path}", native_log.reason() or "it gave no reason")
    try:
        yield library, file
    finally:
        library.gguf_free(file)


_FILE = ctypes.c_void_p
_FUNCTIONS = (
    ("gguf_init_from_file", _FILE, [ctypes.c_char_p, _InitParams]),
    ("gguf_get_n_tensors", ctypes.c_int64, [_FILE]),
    ("gguf_get_tensor_type", ctypes.c_int, [_FILE, ctypes.c_int64]),
    ("gguf_get_tensor_size", ctypes.c_size_t, [_FILE, ctypes.c_int64]),
    ("gguf_get_data_offset", ctypes.c_size_t, [_FILE]),
    ("gguf_free", None, [_FILE]),
    ("gguf_find_key", ctypes.c_int64, [_FILE, ctypes.c_char_p]),
    ("gguf_get_kv_type", ctypes.c_int, [_FILE, ctypes.c_int64]),
    ("gguf_get_arr_type", ctypes.c_int, [_FILE, ctypes.c_int64]),
    ("gguf_get_arr_n", ctypes.c_size_t, [_FILE, ctypes.c_int64]),
    ("gguf_get_arr_data", ctypes.c_void_p, [_FILE, ctypes.c_int64]),
    ("gguf_get_val_u32", ctypes.c_uint32, [_FILE, ctypes.c_int64]),
    ("gguf_get_val_str", ctypes.c_char_p, [_FILE, ctypes.c_int64]),
    ("ggml_type_size", ctypes.c_size_t, [ctypes.c_int]),
    ("ggml_blck_size", ctypes.c_int64, [ctypes.c_int]),
)
