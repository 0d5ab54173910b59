"""An ik_llama.cpp context as the cache of one text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from specdesk.core.interrupted import Interrupted
from specdesk.core.lm import Logits
from specdesk.engine.load_options import LoadOptions
from specdesk.engine.native import batch
from specdesk.engine.native.ik import layouts
from specdesk.engine.native_log import native_log
from specdesk.engine.stop import StopFlag
from specdesk.errors import GenerationError, ModelError
from specdesk.memory import PASS_TOKENS, CacheType

_GGML_TYPE: Final = {CacheType.F16: 1, CacheType.Q8_0: 8}
"""ggml's numbers, which are part of the file format."""
CACHE_TYPES: Final = tuple(_GGML_TYPE)
"""How keys and values may be cached. Over f32, q5_0 and q5_1 flash attention ends the process; with q4_0 a tiny model's
logits are others than llama.cpp's by 7, with q4_1 they are no numbers."""


class IkCache:
    """A NativeCache of ik_llama.cpp."""

    def __init__(
        self, library: Any, model: Any, n_tokens: int, name: str, options: LoadOptions, stop: StopFlag
    ) -> None:
        """`n_tokens` is the vocabulary's size, `name` the model's for the reader. While `stop` is set, passes end.

        Raises ModelError if it does not fit into memory, and for cache types that the library cannot take.
        """
        self._ik = library
        self._n_tokens = n_tokens
        self._stop = stop
        self._batch = batch.Batch(layouts.Batch())
        self._context: Any = _open_context(library, model, name, options)
        self.takes_copies = not options.flash_attention
        """Flash attention goes wrong beside other texts: with 100 cells of another before its own, logits of a text
        moved by 6 (a 0.5B Qwen2.5, 0.1.5)."""
        library.llama_set_abort_callback(self._context, stop.function, stop.data)

    def decode(self, ids: Sequence[int], start: int, n_rows: int) -> None:
        """As NativeCache."""
        code = self._ik.llama_decode(self._context, self._batch.fill(ids, start, n_rows))
        # A pass that was given up half-way returns as one that succeeded, with the logits of an earlier one.
        if self._stop.is_set():
            raise Interrupted
        if code != 0:
            raise GenerationError(
                f"ik_llama.cpp could not decode {len(ids)} tokens at position {start} (code {code})",
                native_log.last_error(),
            )

    def wait(self) -> None:
        """As NativeCache."""
        self._ik.llama_synchronize(self._context)

    def rows(self, n_rows: int) -> Logits:
        """As NativeCache."""
        address = self._ik.llama_get_logits(self._context)
        if address is None:
            raise GenerationError("ik_llama.cpp gave no logits for a pass that succeeded", native_log.last_error())
        return batch.view(address, n_rows, self._n_tokens)

    def cut(self, length: int) -> bool:
        """As NativeCache."""
        return bool(self._ik.llama_kv_cache_seq_rm(self._context, 0, length, -1))

    def clear(self) -> None:
        """As NativeCache."""
        self._ik.llama_kv_cache_clear(self._context)

    def first_position(self) -> int:
        """As NativeCache."""
        return int(self._ik.llama_kv_cache_seq_pos_min(self._context, 0))

    def cells(self) -> NDArray[np.uint8]:
        """As NativeCache."""
        size = self._ik.llama_state_seq_get_size(self._context, 0, 0)
        data = np.empty(size, np.uint8)
        return data[: self._ik.llama_state_seq_get_data(self._context, data.ctypes.data, size, 0, 0)]

    def put_cells(self, cells: NDArray[np.uint8], sequence: int) -> None:
        """As NativeCache."""
        if not self.takes_copies:
            raise ValueError("ik_llama.cpp's flash attention takes no other texts beside one")
        if not self._ik.llama_state_seq_set_data(self._context, cells.ctypes.data, cells.size, sequence, 0):
            raise GenerationError("ik_llama.cpp could not put cells into its cache", native_log.last_error())

    def close(self) -> None:
        """As NativeCache."""
        self._ik.llama_free(self._context)


def _open_context(library: Any, model: Any, name: str, options: LoadOptions) -> Any:
    types = (options.cache_type_k, options.cache_type_v)
    if not (set(types) <= set(CACHE_TYPES) and (options.flash_attention or types[1] is CacheType.F16)):
        raise ModelError(f"ik_llama.cpp does not cache keys as {types[0]} with values as {types[1]}")
    params = library.llama_context_default_params()
    params.n_ctx = options.n_ctx
    params.n_batch = params.n_ubatch = PASS_TOKENS
    params.n_threads = params.n_threads_batch = options.n_threads
    params.flash_attn = options.flash_attention
    params.type_k, params.type_v = _GGML_TYPE[types[0]], _GGML_TYPE[types[1]]
    params.n_seq_max = options.n_sequences
    context = library.llama_init_from_model(model, params)
    if not context:
        raise ModelError(
            f"no context of {options.n_ctx} tokens for {name} in ik_llama.cpp: {native_log.reason() or 'no reason'}",
            "try a smaller --ctx",
        )
    return context
