"""One model with one llama.cpp context, as the core's LanguageModel. Low-level interface only."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

# Before llama_cpp: it sets what ggml reads when it is loaded.
from specdesk.engine.native_log import native_log

import llama_cpp  # isort: skip
import numpy as np
from numpy.typing import NDArray

from specdesk.core.interrupted import Interrupted
from specdesk.core.lm import Logits
from specdesk.engine.load_options import LoadOptions
from specdesk.engine.rollback import most_cut
from specdesk.engine.stop import StopFlag
from specdesk.engine.vocabulary import LlamaVocabulary
from specdesk.engine.weights import Weights
from specdesk.errors import GenerationError, ModelError
from specdesk.memory import PASS_TOKENS, CacheType

N_BATCH = PASS_TOKENS
"""Most tokens per native call."""

_TRIAL_CTX = 256
"""Of the cache on which cutting back is tried: room for the longest draft."""

_ABORTED = 2
"""llama_decode's return value when the abort callback stopped it."""


_GGML_TYPE = {kind: getattr(llama_cpp, f"GGML_TYPE_{kind.name}") for kind in CacheType}


class LlamaLM:
    """A model and a cache. Not for use from two threads at once; close it, or use it as a context manager."""

    def __init__(
        self,
        path: Path,
        options: LoadOptions,
        stop: StopFlag,
        weights: Weights | None = None,
        progress: Callable[[float], None] = lambda _part: None,
    ) -> None:
        """Load, unless `stop` is set meanwhile; or work with `weights`, which are loaded and outlive this.

        `progress` hears which part of the weights is loaded.

        Raises: ModelError, with llama.cpp's own reason, for a file that is missing, broken or unsupported, and for a
        context that does not fit into memory; Interrupted when `stop` is set.
        """
        self.weights = weights or Weights(
            path, options.n_gpu_layers, stop, repack=options.repack, progress=progress, placing=options.placing
        )
        self._owns_weights = weights is None
        trained = self.weights.n_ctx_train if options.within_training else 0
        n_ctx = min(options.n_ctx, trained or options.n_ctx)
        self.options = replace(options, n_ctx=n_ctx)
        self._stop = stop
        self._ids: list[int] = []
        self._batch = _Batch(N_BATCH)
        self._context: Any = None
        try:
            self._context = self._open_context()
            self._memory = llama_cpp.llama_get_memory(self._context)
        except BaseException:
            self.close()
            raise

    def beside(self, n_ctx: int, n_sequences: int) -> LlamaLM:
        """The same model with another cache, empty and of another size; close it before this one.

        Raises ModelError if it does not fit into memory.
        """
        options = replace(self.options, n_ctx=n_ctx, within_training=False, n_sequences=n_sequences)
        return LlamaLM(self.path, options, self._stop, self.weights)

    @property
    def path(self) -> Path:
        """The model's file."""
        return self.weights.path

    @property
    def vocabulary(self) -> LlamaVocabulary:
        """The model's tokens."""
        return self.weights.vocabulary

    @property
    def n_vocab(self) -> int:
        """Width of a logits row: the vocabulary without the padding at its end, which is never drafted nor emitted."""
        return self.vocabulary.n_used

    @property
    def n_ctx(self) -> int:
        """Most tokens the cache can hold."""
        return self.options.n_ctx

    @property
    def ids(self) -> Sequence[int]:
        """The tokens in the cache, in order."""
        return self._ids

    def extend(self, ids: Sequence[int], n_rows: int) -> Logits:
        """Feed `ids`; a view of llama.cpp's logits behind the last `n_rows`, shape (n_rows, n_vocab) float32.

        At most N_BATCH rows at once. Raises: ValueError if they do not fit; Interrupted when the stop flag is set;
        GenerationError when llama.cpp fails.
        """
        if self._context is None:
            raise ValueError("the model is closed")
        if not 0 <= n_rows <= min(len(ids), N_BATCH):
            raise ValueError(f"{n_rows} rows of logits asked of {len(ids)} tokens (at most {N_BATCH} at once)")
        if len(self._ids) + len(ids) > self.options.n_ctx:
            raise ValueError(f"{len(self._ids)} + {len(ids)} tokens do not fit into a context of {self.options.n_ctx}")
        at = 0
        while at < len(ids):
            # The last call must hold all rows asked for: llama.cpp keeps the logits of one call only.
            n = min(N_BATCH, len(ids) - at) if len(ids) - at <= N_BATCH else min(N_BATCH, len(ids) - at - n_rows)
            self._pass(ids[at : at + n], n_rows if at + n == len(ids) else 0)
            at += n
        if n_rows == 0:
            llama_cpp.llama_synchronize(self._context)
            return np.empty((0, self.n_vocab), np.float32)
        address = ctypes.cast(llama_cpp.llama_get_logits(self._context), ctypes.c_void_p).value
        if address is None:
            raise GenerationError("llama.cpp gave no logits for a pass that succeeded", native_log.last_error())
        view = (ctypes.c_float * (n_rows * self.vocabulary.n_tokens)).from_address(address)
        return np.frombuffer(memoryview(view), np.float32).reshape(n_rows, -1)[:, : self.n_vocab]

    def truncate(self, length: int) -> None:
        """Cut the cache back to its first `length` tokens. Raises ModelError if this kind of cache cannot do that."""
        if not 0 <= length <= len(self._ids):
            raise ValueError(f"cannot cut a cache of {len(self._ids)} tokens to {length}")
        if length == len(self._ids):
            return
        if self._has_lost(length) or not llama_cpp.llama_memory_seq_rm(self._memory, 0, length, -1):
            raise ModelError(
                f"the cache of {self.path.name} cannot be cut back to {length} of {len(self._ids)} tokens",
                "recurrent and sliding-window models may refuse; decode plainly with -k 0",
            )
        del self._ids[length:]

    def cut_point(self, length: int) -> int:
        """How many of its first `length` tokens the cache can keep: all of them, or none."""
        if length == len(self._ids):
            return length
        within = self.most_cut is None or len(self._ids) - length <= self.most_cut
        return length if within and not self._has_lost(length) else 0

    @cached_property
    def most_cut(self) -> int | None:
        """How many tokens at its end the cache can be cut back by, at least, tried on one of its own; None: any number.

        What keeps a cell for each token needs no trial; each cut of it is checked. Raises GenerationError if llama.cpp
        fails.
        """
        if not self.weights.keeps_state:
            return None
        with self.beside(_TRIAL_CTX, 1) as cache:
            return most_cut(cache)

    def _has_lost(self, length: int) -> bool:
        """Whether a cell is gone that a layer with a sliding window would look at behind the first `length` tokens."""
        window = self.weights.window
        if window == 0 or length == 0:
            return False
        return bool(llama_cpp.llama_memory_seq_pos_min(self._memory, 0) > max(0, length - window))

    def cells(self) -> NDArray[np.uint8]:
        """What the cache holds of the text, bit for bit, as llama.cpp writes it out."""
        size = llama_cpp.llama_state_seq_get_size(self._context, 0)
        data = np.empty(size, np.uint8)
        return data[: llama_cpp.llama_state_seq_get_data(self._context, _bytes_of(data), size, 0)]

    def put_cells(self, cells: NDArray[np.uint8], sequence: int) -> None:
        """Let a copy of `cells` take up room in the cache as another text (1 to n_sequences - 1), unseen by this one.

        Raises GenerationError if there is no room for it.
        """
        if not llama_cpp.llama_state_seq_set_data(self._context, _bytes_of(cells), cells.size, sequence):
            raise GenerationError("llama.cpp could not put cells into its cache", native_log.last_error())

    def close(self) -> None:
        """Free the cache, and the model if it is its own; the cache is empty then. May be called twice."""
        self._ids.clear()
        if self._context is not None:
            llama_cpp.llama_free(self._context)
            self._context = None
        if self._owns_weights:
            self.weights.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def _pass(self, ids: Sequence[int], n_rows: int) -> None:
        start = len(self._ids)
        code = llama_cpp.llama_decode(self._context, self._batch.fill(ids, start, n_rows))
        if code == 0:
            self._ids.extend(ids)
            return
        # Of a failed call some cells may be in the cache already.
        if not llama_cpp.llama_memory_seq_rm(self._memory, 0, start, -1):
            llama_cpp.llama_memory_clear(self._memory, True)
            self._ids.clear()
        if code == _ABORTED:
            raise Interrupted
        raise GenerationError(
            f"llama.cpp could not decode {len(ids)} tokens at position {start} (code {code})",
            native_log.last_error(),
        )

    def _open_context(self) -> Any:
        options, stop = self.options, self._stop
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = options.n_ctx
        params.n_batch = params.n_ubatch = N_BATCH
        params.n_threads = params.n_threads_batch = options.n_threads
        params.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED
        params.type_k = _GGML_TYPE[options.cache_type_k]
        params.type_v = _GGML_TYPE[options.cache_type_v]
        params.n_seq_max = options.n_sequences
        # One buffer for all sequences: with one each, a text would not see how full the others make it.
        params.kv_unified = True
        # Else layers with a sliding window forget what lies behind it, and a rejected draft or an edited question, once
        # cut off, would leave a text that they know only the end of.
        params.swa_full = True
        params.no_perf = True
        context = llama_cpp.llama_init_from_model(self.weights.native, params)
        if not context:
            raise ModelError(
                f"no context of {options.n_ctx} tokens for {self.path.name}: {native_log.reason() or 'no reason'}",
                "try a smaller --ctx",
            )
        llama_cpp.llama_set_abort_callback(
            context, ctypes.cast(stop.function, llama_cpp.ggml_abort_callback), stop.data
        )
        return context


class _Batch:
    """A llama_batch filled through NumPy views of its arrays: one sequence, consecutive positions."""

    def __init__(self, size: int) -> None:
        self._ids = np.zeros(size, np.int32)
        self._positions = np.zeros(size, np.int32)
        self._wanted = np.zeros(size, np.int8)
        self._n_seq = np.ones(size, np.int32)
        self._seq = (llama_cpp.llama_seq_id * 1)(0)
        self._seqs = (ctypes.POINTER(llama_cpp.llama_seq_id) * (size + 1))(*([self._seq] * size), None)
        self._struct = llama_cpp.llama_batch()
        for field, array in (
            ("token", self._ids),
            ("pos", self._positions),
            ("n_seq_id", self._n_seq),
            ("logits", self._wanted),
        ):
            kind = dict(llama_cpp.llama_batch._fields_)[field]
            setattr(self._struct, field, ctypes.cast(array.ctypes.data, kind))
        self._struct.seq_id = ctypes.cast(self._seqs, dict(llama_cpp.llama_batch._fields_)["seq_id"])

    def fill(self, ids: Sequence[int], start: int, n_rows: int) -> llama_cpp.llama_batch:
        n = len(ids)
        self._ids[:n] = ids
        self._positions[:n] = np.arange(start, start + n)
        self._wanted[: n - n_rows] = 0
        self._wanted[n - n_rows : n] = 1
        self._struct.n_tokens = n
        return self._struct


def _bytes_of(data: NDArray[np.uint8]) -> Any:
    return data.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
