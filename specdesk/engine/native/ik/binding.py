"""Finds ik_llama.cpp's shared library, loads it beside llama.cpp, and refuses one that is not as declared here.

Declared by hand, from include/llama.h in the wheels: the package's own bindings lack what is needed, and importing
them would load the library before anything is known of it.
"""

from __future__ import annotations

import ctypes
import os
import platform
import shlex
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from specdesk.engine.native.ik.layouts import (
    CONTEXT_DEFAULTS,
    MODEL_DEFAULTS,
    Batch,
    ContextParams,
    ModelParams,
    unexpected,
)
from specdesk.engine.native_log import native_log
from specdesk.errors import EngineMissingError

VERSION: Final = "0.1.5"
"""The only one whose layouts are known. As in pyproject.toml."""
_PACKAGE: Final = "ik-llama-cpp-python"
_NEEDED: Final = frozenset({"avx2", "f16c", "fma"})
"""What the wheel for x86-64 was compiled for, as llama_print_system_info says; a processor without it would end the
process at the first such instruction."""
_HINT: Final = f"install it: {shlex.quote(sys.executable)} -m pip install --only-binary :all: {_PACKAGE}=={VERSION}"

_PTR: Final = ctypes.c_void_p
_INT: Final = ctypes.c_int32
_FLAG: Final = ctypes.c_bool
_SIZE: Final = ctypes.c_size_t
_FLAGS: Final = ctypes.c_uint32
_FUNCTIONS: Final[dict[str, tuple[Any, ...]]] = {
    "llama_backend_init": (None,),
    "llama_log_set": (None, _PTR, _PTR),
    "llama_print_system_info": (ctypes.c_char_p,),
    "llama_model_default_params": (ModelParams,),
    "llama_context_default_params": (ContextParams,),
    "llama_model_load_from_file": (_PTR, ctypes.c_char_p, ModelParams),
    "llama_free_model": (None, _PTR),
    "llama_n_vocab": (_INT, _PTR),
    "llama_n_ctx_train": (_INT, _PTR),
    "llama_model_is_recurrent": (_FLAG, _PTR),
    "llama_model_is_hybrid": (_FLAG, _PTR),
    "llama_model_has_recurrent": (_FLAG, _PTR),
    "llama_init_from_model": (_PTR, _PTR, ContextParams),
    "llama_free": (None, _PTR),
    "llama_set_abort_callback": (None, _PTR, _PTR, _PTR),
    "llama_batch_get_one": (Batch, ctypes.POINTER(_INT), _INT, _INT, _INT),
    "llama_decode": (_INT, _PTR, Batch),
    "llama_synchronize": (None, _PTR),
    "llama_get_logits": (_PTR, _PTR),
    "llama_kv_cache_clear": (None, _PTR),
    "llama_kv_cache_seq_rm": (_FLAG, _PTR, _INT, _INT, _INT),
    "llama_kv_cache_seq_pos_min": (_INT, _PTR, _INT),
    "llama_state_seq_get_size": (_SIZE, _PTR, _INT, _FLAGS),
    "llama_state_seq_get_data": (_SIZE, _PTR, _PTR, _SIZE, _INT, _FLAGS),
    "llama_state_seq_set_data": (_SIZE, _PTR, _PTR, _SIZE, _INT, _FLAGS),
}
"""What is called: its result, then its arguments."""


@cache
def ik_library() -> Any:
    """The library, its functions declared, its log kept with llama.cpp's. Raises EngineMissingError, with the reason.

    llama.cpp's libraries and these define the same names. Neither are loaded for all to see (RTLD_LOCAL), so each set
    calls its own.
    """
    found = installed_version()
    if found is None:
        raise EngineMissingError(f"{_PACKAGE} is not installed for {sys.executable}", _HINT)
    if found != VERSION:
        raise EngineMissingError(f"specdesk knows {_PACKAGE} {VERSION}, not {found}", _HINT)
    if missing := _missing_instructions():
        raise EngineMissingError(f"{_PACKAGE} needs a processor with {missing}")
    path = _path()
    try:
        library = ctypes.CDLL(str(path), mode=os.RTLD_NOW | os.RTLD_LOCAL)
        for name, (result, *arguments) in _FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as error:
        raise EngineMissingError(f"{_PACKAGE} {found} cannot be loaded: {error}", _HINT) from error
    _check_layouts(library)
    native_log.hear(library.llama_log_set)
    library.llama_backend_init()
    return library


def installed_version() -> str | None:
    """Of the package; None where it is not installed. Loads nothing."""
    try:
        return version(_PACKAGE)
    except PackageNotFoundError:
        return None


def _path() -> Path:
    spec = find_spec("ik_llama_cpp")
    folders = [] if spec is None else spec.submodule_search_locations or []
    name = "libllama.dylib" if sys.platform == "darwin" else "libllama.so"
    for folder in folders:
        path = Path(folder, "lib", name)
        if path.is_file():
            return path
    raise EngineMissingError(f"{_PACKAGE} is installed for {sys.executable} without its lib/{name}", _HINT)


def _check_layouts(library: Any) -> None:
    """Raises EngineMissingError where a struct is filled otherwise than one of the known layout would be."""
    one = (_INT * 1)(5)
    batch = library.llama_batch_get_one(one, 1, 7, 3)
    same_token = ctypes.addressof(batch.token.contents) == ctypes.addressof(one) if batch.token else False
    rest = [bool(getattr(batch, name)) for name in ("embd", "pos", "n_seq_id", "seq_id", "logits")]
    numbers = (batch.n_tokens, batch.all_pos_0, batch.all_pos_1, batch.all_seq_id)
    as_known = same_token and not any(rest) and numbers == (1, 7, 1, 3)
    for struct, odd in (
        ("llama_model_params", unexpected(library.llama_model_default_params(), MODEL_DEFAULTS)),
        ("llama_context_params", unexpected(library.llama_context_default_params(), CONTEXT_DEFAULTS)),
        ("llama_batch", "" if as_known else "its fields"),
    ):
        if odd:
            raise EngineMissingError(f"{_PACKAGE} {VERSION} is built otherwise than specdesk knows: {struct}, {odd}")


def _missing_instructions(info: Path = Path("/proc/cpuinfo")) -> str:
    """What the processor lacks, in words; empty for nothing, or where that cannot be told."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return ""
    try:
        flags = next(line for line in info.read_text().splitlines() if line.startswith("flags")).split()
    except (OSError, StopIteration):
        return ""
    return ", ".join(name.upper() for name in sorted(_NEEDED - set(flags)))
