"""One GGUF model's weights in llama.cpp and what its file says about it. Any number of caches can work with them."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

# Before llama_cpp: it sets what ggml reads when it is loaded.
from specdesk.engine.native_log import native_log

import llama_cpp  # isort: skip
from specdesk.core.interrupted import Interrupted
from specdesk.engine.build import devices
from specdesk.engine.gguf import check_gguf, read_tensors
from specdesk.engine.load_options import LoadOptions
from specdesk.engine.native.llama_cache import LlamaCache
from specdesk.engine.stop import StopFlag
from specdesk.engine.vocabulary import LlamaVocabulary, has_vocabulary
from specdesk.errors import ModelError
from specdesk.model_name import model_name
from specdesk.settings import ANYWHERE, LoadMode, Placing

_LAYOUTS: Final = {
    "AVX2": ("Q4_0", "Q4_K", "IQ4_NL", "MXFP4"),
    "AVX512": ("Q2_K",),
    "AMX_INT8": ("Q4_0", "Q4_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K", "IQ4_XS"),
    "NEON": ("Q1_0", "Q4_0", "Q8_0", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "MXFP4"),
    "RISCV_V": ("Q4_0", "Q8_0", "Q2_K", "Q4_K", "IQ4_NL"),
    "VXE": ("Q4_0",),
}
"""Types that llama.cpp may lay out anew, by the feature of the processor, as it prints it, that they are for: what
ggml-cpu's repack.cpp (ggml_repack_get_optimal_repack_type) and amx/common.h choose."""

_LOOK_AHEAD: Final = frozenset(
    (
        *("bert", "eurobert", "jina-bert-v2", "jina-bert-v3", "modern-bert", "neo-bert", "nomic-bert"),
        *("nomic-bert-moe", "gemma-embedding", "llama-embed", "wavtokenizer-dec"),
    )
)
"""Architectures whose tokens look at those behind them. Most of their files say so, but not all."""


class Weights:
    """A loaded model. Close it after every cache that works with it."""

    def __init__(
        self,
        path: Path,
        n_gpu_layers: int,
        stop: StopFlag,
        *,
        repack: bool,
        progress: Callable[[float], None] = lambda _part: None,
        placing: Placing = ANYWHERE,
        vocabulary_only: bool = False,
    ) -> None:
        """Load, unless `stop` is set meanwhile; `n_gpu_layers` -1: all of them. `progress` hears the part that is done.

        With `repack` weights are laid out anew for faster products on this CPU. `placing` was checked against the
        devices there are. With `vocabulary_only` no weights are read: tokens and metadata are all that can be had then.
        Raises: ModelError, with llama.cpp's own reason, for a file that is missing, broken or unsupported; Interrupted
        when `stop` is set.
        """
        self.path = path
        self.native: Any = None
        self.lock_problem = ""
        """Why the weights could not be kept from being swapped out, where that was asked for."""
        check_gguf(path)
        llama_cpp.llama_backend_init()
        native_log.clear()
        try:
            self.native = _load_model(
                path, n_gpu_layers, stop, progress, placing, repack=repack, vocabulary_only=vocabulary_only
            )
            if placing.load_mode is LoadMode.LOCK:
                self.lock_problem = native_log.line_with("failed to mlock")
            self._check_writes_text()
            self.vocabulary = LlamaVocabulary(self.native, self.metadata("tokenizer.ggml.model") or "")
        except BaseException:
            self.close()
            raise

    @property
    def n_ctx_train(self) -> int:
        """The context length the model was trained for; 0 where its file does not tell."""
        return int(llama_cpp.llama_model_n_ctx_train(self.native))

    @property
    def keeps_state(self) -> bool:
        """Whether some layers keep a running state in the place of a cell for each token."""
        return bool(llama_cpp.llama_model_is_recurrent(self.native) or llama_cpp.llama_model_is_hybrid(self.native))

    @property
    def window(self) -> int:
        """Tokens that layers with a sliding window look back; 0 without such layers."""
        return int(llama_cpp.llama_model_n_swa(self.native))

    @property
    def name(self) -> str:
        """The model's own name, or its file's."""
        return model_name(self.metadata("general.name") or "", self.path.stem)

    @property
    def chat_template(self) -> str | None:
        """The Jinja chat template in the file."""
        text = llama_cpp.llama_model_chat_template(self.native, None)
        return None if text is None else text.decode("utf-8", errors="replace")

    def metadata(self, key: str) -> str | None:
        """A metadata entry as text."""
        buffer = ctypes.create_string_buffer(1024)
        n = llama_cpp.llama_model_meta_val_str(self.native, key.encode(), buffer, len(buffer))
        return None if n < 0 else buffer.value.decode("utf-8", errors="replace")

    def open_cache(self, options: LoadOptions, stop: StopFlag) -> LlamaCache:
        """An empty cache; passes end while `stop` is set. Raises ModelError, with the reason, if it does not fit."""
        return LlamaCache(self.native, self.vocabulary.n_tokens, self.path.name, options, stop)

    def _check_writes_text(self) -> None:
        if problem := self._why_no_text():
            raise ModelError(f"{self.path.name} {problem}", "specdesk needs a text generation model")

    def _why_no_text(self) -> str:
        """Why it cannot go on with a text, one token after the other; empty where it can.

        llama.cpp loads such models too, and makes logits with most: each token would be guessed knowing those after it.
        """
        if not has_vocabulary(self.native):
            return "has no vocabulary"
        if llama_cpp.llama_model_is_diffusion(self.native):
            return "writes a whole text at once (diffusion), and not token by token"
        architecture = self.metadata("general.architecture") or ""
        looks_ahead = architecture in _LOOK_AHEAD or self.metadata(f"{architecture}.attention.causal") == "false"
        return "is an encoder model" if looks_ahead or llama_cpp.llama_model_has_encoder(self.native) else ""

    def close(self) -> None:
        """Free them. May be called twice."""
        if self.native is not None:
            llama_cpp.llama_model_free(self.native)
            self.native = None


def supports_gpu() -> bool:
    """Whether llama.cpp can put layers on a GPU here: it was compiled for one, and sees one."""
    # One that was compiled for other machines (RPC) says that it can, with none connected too.
    return bool(llama_cpp.llama_supports_gpu_offload()) and any(device.takes_layers for device in devices())


def _load_model(
    path: Path,
    n_gpu_layers: int,
    stop: StopFlag,
    progress: Callable[[float], None],
    placing: Placing,
    *,
    repack: bool,
    vocabulary_only: bool,
) -> Any:
    params = llama_cpp.llama_model_default_params()
    params.n_gpu_layers = n_gpu_layers
    params.use_extra_bufts = repack
    params.vocab_only = vocabulary_only
    # A mapped file would stay in memory beside the layout made of it: 1.75 GB for a Q4_K_M file of 1.1 GB. With
    # layers on a GPU most of the file is not kept, and reading it would need room for all of it at once.
    laid_out_anew = repack and not (n_gpu_layers and supports_gpu()) and _may_be_repacked(path)
    match placing.load_mode:
        case LoadMode.MAP:
            params.load_mode = llama_cpp.LLAMA_LOAD_MODE_MMAP
        case LoadMode.READ:
            params.load_mode = llama_cpp.LLAMA_LOAD_MODE_NONE
        case LoadMode.LOCK:
            locked = llama_cpp.LLAMA_LOAD_MODE_MLOCK if laid_out_anew else llama_cpp.LLAMA_LOAD_MODE_MMAP_MLOCK
            params.load_mode = locked
        case LoadMode.AUTO:
            if laid_out_anew:
                params.load_mode = llama_cpp.LLAMA_LOAD_MODE_NONE
    if placing.main_gpu is not None:
        params.split_mode, params.main_gpu = llama_cpp.LLAMA_SPLIT_MODE_NONE, placing.main_gpu
    if placing.tensor_split:
        # llama.cpp reads one for each device there could be, in 32 bits, which hold no very large or small ones.
        largest = max(placing.tensor_split)
        shares = (ctypes.c_float * llama_cpp.llama_max_devices())(*(share / largest for share in placing.tensor_split))
        params.tensor_split = ctypes.cast(shares, ctypes.POINTER(ctypes.c_float))

    def loaded(part: float, _data: object) -> bool:
        progress(part)
        return not stop.is_set()

    go_on = llama_cpp.llama_progress_callback(loaded)
    params.progress_callback = go_on
    model = llama_cpp.llama_model_load_from_file(os.fsencode(path), params)
    if stop.is_set():
        if model:
            llama_cpp.llama_model_free(model)
        raise Interrupted
    if not model:
        raise ModelError(f"llama.cpp cannot load {path}", native_log.reason() or "it gave no reason")
    return model


def _may_be_repacked(path: Path) -> bool:
    try:
        types = read_tensors(path).types
    except ModelError:  # loading says better what is wrong with the file
        return False
    features = llama_cpp.llama_print_system_info().decode("utf-8", errors="replace")
    names = [name for feature, names in _LAYOUTS.items() if f"{feature} = 1" in features for name in names]
    return any(getattr(llama_cpp, f"GGML_TYPE_{name}") in types for name in names)
