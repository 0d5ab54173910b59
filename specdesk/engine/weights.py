"""One GGUF model's weights and what its file says about it. Any number of caches can work with them."""

from __future__ import annotations

import ctypes
import os
import platform
from pathlib import Path
from typing import Any, Final

# Before llama_cpp: it sets what ggml reads when it is loaded.
from specdesk.engine.native_log import native_log

import llama_cpp  # isort: skip
from specdesk.core.interrupted import Interrupted
from specdesk.engine.gguf import check_gguf, read_tensors
from specdesk.engine.stop import StopFlag
from specdesk.engine.vocabulary import LlamaVocabulary, has_vocabulary
from specdesk.errors import ModelError

_REPACKED: Final = frozenset(
    {
        llama_cpp.GGML_TYPE_Q4_0,
        llama_cpp.GGML_TYPE_Q2_K,
        llama_cpp.GGML_TYPE_Q4_K,
        llama_cpp.GGML_TYPE_Q5_K,
        llama_cpp.GGML_TYPE_Q6_K,
        llama_cpp.GGML_TYPE_IQ4_NL,
        llama_cpp.GGML_TYPE_MXFP4,
    }
)
"""Types that llama.cpp has a faster layout for on some CPUs."""
_REPACKED_ON_ARM: Final = frozenset({llama_cpp.GGML_TYPE_Q8_0, llama_cpp.GGML_TYPE_Q1_0})
"""And on those alone."""


class Weights:
    """A loaded model. Close it after every cache that works with it."""

    def __init__(self, path: Path, n_gpu_layers: int, stop: StopFlag, *, repack: bool) -> None:
        """Load, unless `stop` is set meanwhile; `n_gpu_layers` -1: all of them.

        With `repack` weights are laid out anew for faster products on this CPU.
        Raises: ModelError, with llama.cpp's own reason, for a file that is missing, broken or unsupported; Interrupted
        when `stop` is set.
        """
        self.path = path
        self.native: Any = None
        check_gguf(path)
        llama_cpp.llama_backend_init()
        native_log.clear()
        try:
            self.native = _load_model(path, n_gpu_layers, stop, repack=repack)
            _check_generates_text(self.native, path)
            self.vocabulary = LlamaVocabulary(self.native)
        except BaseException:
            self.close()
            raise

    @property
    def n_ctx_train(self) -> int:
        """The context length the model was trained for."""
        return int(llama_cpp.llama_model_n_ctx_train(self.native))

    @property
    def name(self) -> str:
        """The model's own name, or its file's."""
        return self.metadata("general.name") or self.path.stem

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

    def close(self) -> None:
        """Free them. May be called twice."""
        if self.native is not None:
            llama_cpp.llama_model_free(self.native)
            self.native = None


def supports_gpu() -> bool:
    """Whether this build of llama.cpp can put layers on a GPU."""
    return bool(llama_cpp.llama_supports_gpu_offload())


def _check_generates_text(model: Any, path: Path) -> None:
    if llama_cpp.llama_model_has_encoder(model):
        raise ModelError(f"{path.name} is an encoder model", "specdesk needs a text generation model")
    if not has_vocabulary(model):
        raise ModelError(f"{path.name} has no vocabulary", "specdesk needs a text generation model")


def _load_model(path: Path, n_gpu_layers: int, stop: StopFlag, *, repack: bool) -> Any:
    params = llama_cpp.llama_model_default_params()
    params.n_gpu_layers = n_gpu_layers
    params.use_extra_bufts = repack
    if repack and not (n_gpu_layers and supports_gpu()) and _may_be_repacked(path):
        # A mapped file would stay in memory beside the layout made of it: 1.75 GB for a Q4_K_M file of 1.1 GB.
        params.load_mode = llama_cpp.LLAMA_LOAD_MODE_NONE
    go_on = llama_cpp.llama_progress_callback(lambda _part, _data: not stop.is_set())
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
    except ModelError:  # loading says it better
        return False
    return bool(types & (_REPACKED | _REPACKED_ON_ARM if _is_arm() else _REPACKED))


def _is_arm() -> bool:
    return platform.machine().lower() in {"arm64", "aarch64"}
