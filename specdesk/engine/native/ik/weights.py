"""One GGUF model's weights in ik_llama.cpp. Its vocabulary, its template and its grammars stay with llama.cpp."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from specdesk.core.interrupted import Interrupted
from specdesk.engine.load_options import LoadOptions
from specdesk.engine.native.ik.binding import ik_library
from specdesk.engine.native.ik.cache import IkCache
from specdesk.engine.native_log import native_log
from specdesk.engine.stop import StopFlag
from specdesk.engine.weights import Weights
from specdesk.errors import ModelError
from specdesk.settings import LoadMode

_PROGRESS: Final = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_float, ctypes.c_void_p)


class IkWeights:
    """A loaded model. Close it after every cache that works with it."""

    def __init__(
        self, path: Path, options: LoadOptions, stop: StopFlag, progress: Callable[[float], None] = lambda _part: None
    ) -> None:
        """Load, unless `stop` is set meanwhile; `progress` hears the part that is done.

        Raises: EngineMissingError where the library is not here or not the known one; ModelError, with the reason, for
        a file that is missing, broken or unsupported and for options that the library cannot honour; Interrupted when
        `stop` is set.
        """
        _check(options)
        self._ik = ik_library()
        self.path = path
        self.lock_problem = ""
        self._model: Any = None
        self._facts = Weights(path, 0, stop, repack=False, vocabulary_only=True)
        self.vocabulary = self._facts.vocabulary
        native_log.clear()
        try:
            self._model = self._load(options, stop, progress)
            if options.placing.load_mode is LoadMode.LOCK:
                self.lock_problem = native_log.line_with("failed to mlock")
            self._check_model()
        except BaseException:
            self.close()
            raise

    @property
    def n_ctx_train(self) -> int:
        """As NativeWeights."""
        return int(self._ik.llama_n_ctx_train(self._model))

    keeps_state: Final = False
    """As NativeWeights: others are refused."""
    window: Final = 0
    """As NativeWeights: its cache keeps every cell, whatever a layer looks at."""

    @property
    def name(self) -> str:
        """As NativeWeights."""
        return self._facts.name

    @property
    def chat_template(self) -> str | None:
        """As NativeWeights."""
        return self._facts.chat_template

    def metadata(self, key: str) -> str | None:
        """As NativeWeights."""
        return self._facts.metadata(key)

    def open_cache(self, options: LoadOptions, stop: StopFlag) -> IkCache:
        """As NativeWeights."""
        return IkCache(self._ik, self._model, self.vocabulary.n_tokens, self.path.name, options, stop)

    def close(self) -> None:
        """As NativeWeights."""
        if self._model is not None:
            self._ik.llama_free_model(self._model)
            self._model = None
        self._facts.close()

    def _load(self, options: LoadOptions, stop: StopFlag, progress: Callable[[float], None]) -> Any:
        params = self._ik.llama_model_default_params()
        params.repack_tensors = options.repack
        # What is laid out anew would stay mapped beside the new layout.
        mode = options.placing.load_mode
        params.use_mmap = mode is LoadMode.MAP or (mode is not LoadMode.READ and not options.repack)
        params.use_mlock = mode is LoadMode.LOCK
        params.flash_attn = options.flash_attention

        def loaded(part: float, _data: object) -> bool:
            progress(part)
            return not stop.is_set()

        go_on = _PROGRESS(loaded)
        params.progress_callback = ctypes.cast(go_on, ctypes.c_void_p)
        model = self._ik.llama_model_load_from_file(os.fsencode(self.path), params)
        if stop.is_set():
            if model:
                self._ik.llama_free_model(model)
            raise Interrupted
        if not model:
            raise ModelError(f"ik_llama.cpp cannot load {self.path}", native_log.reason() or "it gave no reason")
        return model

    def _check_model(self) -> None:
        ik, model, name = self._ik, self._model, self.path.name
        if ik.llama_n_vocab(model) != self.vocabulary.n_tokens:
            raise ModelError(
                f"ik_llama.cpp counts {ik.llama_n_vocab(model)} tokens in {name}, llama.cpp {self.vocabulary.n_tokens}"
            )
        if ik.llama_model_is_recurrent(model) or ik.llama_model_is_hybrid(model) or ik.llama_model_has_recurrent(model):
            raise ModelError(f"{name} keeps a running state, and was not tried in ik_llama.cpp")


def _check(options: LoadOptions) -> None:
    """Raises ModelError for what the library cannot honour."""
    if options.n_gpu_layers != 0:
        raise ModelError("ik_llama.cpp, as packaged, puts no layers on a GPU")
    if options.repack and options.placing.load_mode is LoadMode.MAP:
        raise ModelError("ik_llama.cpp does not map a file whose weights it lays out anew")
