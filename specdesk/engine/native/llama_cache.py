"""A llama.cpp context as the cache of one text."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, Final

# Before llama_cpp: it sets what ggml reads when it is loaded.
from specdesk.engine.native_log import native_log

import llama_cpp  # isort: skip
import numpy as np
from numpy.typing import NDArray

from specdesk.core.interrupted import Interrupted
from specdesk.core.lm import Logits
from specdesk.engine.load_options import LoadOptions
from specdesk.engine.native.batch import Batch, view
from specdesk.engine.stop import StopFlag
from specdesk.errors import GenerationError, ModelError
from specdesk.memory import PASS_TOKENS, CacheType

_ABORTED: Final = 2
"""llama_decode's return value when the abort callback stopped it."""

_GGML_TYPE: Final = {kind: getattr(llama_cpp, f"GGML_TYPE_{kind.name}") for kind in CacheType}


class LlamaCache:
    """A NativeCache of llama.cpp."""

    takes_copies: Final = True

    def __init__(self, model: Any, n_tokens: int, name: str, options: LoadOptions, stop: StopFlag) -> None:
        """`n_tokens` is the vocabulary's size, `name` the model's for the reader. Raises ModelError if it does not fit.

        While `stop` is set, passes end.
        """
        self._n_tokens = n_tokens
        self._batch = Batch(llama_cpp.llama_batch())
        self._context: Any = _open_context(model, name, options, stop)
        self._memory = llama_cpp.llama_get_memory(self._context)

    def decode(self, ids: Sequence[int], start: int, n_rows: int) -> None:
        """As NativeCache."""
        code = llama_cpp.llama_decode(self._context, self._batch.fill(ids, start, n_rows))
        if code == _ABORTED:
            raise Interrupted
        if code != 0:
            raise GenerationError(
                f"llama.cpp could not decode {len(ids)} tokens at position {start} (code {code})",
                native_log.last_error(),
            )

    def wait(self) -> None:
        """As NativeCache."""
        llama_cpp.llama_synchronize(self._context)

    def rows(self, n_rows: int) -> Logits:
        """As NativeCache."""
        address = ctypes.cast(llama_cpp.llama_get_logits(self._context), ctypes.c_void_p).value
        if address is None:
            raise GenerationError("llama.cpp gave no logits for a pass that succeeded", native_log.last_error())
        return view(address, n_rows, self._n_tokens)

    def cut(self, length: int) -> bool:
        """As NativeCache."""
        return bool(llama_cpp.llama_memory_seq_rm(self._memory, 0, length, -1))

    def clear(self) -> None:
        """As NativeCache."""
        llama_cpp.llama_memory_clear(self._memory, True)

    def first_position(self) -> int:
        """As NativeCache."""
        return int(llama_cpp.llama_memory_seq_pos_min(self._memory, 0))

    def cells(self) -> NDArray[np.uint8]:
        """As NativeCache."""
        size = llama_cpp.llama_state_seq_get_size(self._context, 0)
        data = np.empty(size, np.uint8)
        return data[: llama_cpp.llama_state_seq_get_data(self._context, _bytes_of(data), size, 0)]

    def put_cells(self, cells: NDArray[np.uint8], sequence: int) -> None:
        """As NativeCache."""
        if not llama_cpp.llama_state_seq_set_data(self._context, _bytes_of(cells), cells.size, sequence):
            raise GenerationError("llama.cpp could not put cells into its cache", native_log.last_error())

    def close(self) -> None:
        """As NativeCache."""
        llama_cpp.llama_free(self._context)


def _open_context(model: Any, name: str, options: LoadOptions, stop: StopFlag) -> Any:
    params = llama_cpp.llama_context_default_params()
    params.n_ctx = options.n_ctx
    params.n_batch = params.n_ubatch = PASS_TOKENS
    params.n_threads = params.n_threads_batch = options.n_threads
    flash = llama_cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED, llama_cpp.LLAMA_FLASH_ATTN_TYPE_DISABLED
    params.flash_attn_type = flash[0] if options.flash_attention else flash[1]
    params.type_k = _GGML_TYPE[options.cache_type_k]
    params.type_v = _GGML_TYPE[options.cache_type_v]
    params.n_seq_max = options.n_sequences
    # One buffer for all sequences: with one each, a text would not see how full the others make it.
    params.kv_unified = True
    # Else layers with a sliding window forget what lies behind it, and a rejected draft or an edited question, once
    # cut off, would leave a text that they know only the end of.
    params.swa_full = True
    params.no_perf = True
    context = llama_cpp.llama_init_from_model(model, params)
    if not context:
        raise ModelError(
            f"no context of {options.n_ctx} tokens for {name}: {native_log.reason() or 'no reason'}",
            "try a smaller --ctx",
        )
    llama_cpp.llama_set_abort_callback(context, ctypes.cast(stop.function, llama_cpp.ggml_abort_callback), stop.data)
    return context


def _bytes_of(data: NDArray[np.uint8]) -> Any:
    return data.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
