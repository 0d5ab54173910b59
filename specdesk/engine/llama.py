"""One model with one cache, as the core's LanguageModel, whichever native library computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from specdesk.core.interrupted import Interrupted
from specdesk.core.lm import Logits
from specdesk.engine.load_options import LoadOptions
from specdesk.engine.native.load import load_weights
from specdesk.engine.native.protocol import NativeCache, NativeWeights
from specdesk.engine.rollback import most_cut
from specdesk.engine.stop import StopFlag
from specdesk.engine.vocabulary import LlamaVocabulary
from specdesk.errors import GenerationError, ModelError
from specdesk.memory import PASS_TOKENS

N_BATCH = PASS_TOKENS
"""Most tokens per native call."""

_TRIAL_CTX = 256
"""Of the cache on which cutting back is tried: room for the longest draft."""


class LlamaLM:
    """A model and a cache. Not for use from two threads at once; close it, or use it as a context manager."""

    def __init__(
        self,
        path: Path,
        options: LoadOptions,
        stop: StopFlag,
        weights: NativeWeights | None = None,
        progress: Callable[[float], None] = lambda _part: None,
    ) -> None:
        """Load, unless `stop` is set meanwhile; or work with `weights`, which are loaded and outlive this.

        `progress` hears which part of the weights is loaded.

        Raises: ModelError, with the library's own reason, for a file that is missing, broken or unsupported, and for a
        context that does not fit into memory; Interrupted when `stop` is set.
        """
        self.weights = weights or load_weights(path, options, stop, progress)
        self._owns_weights = weights is None
        trained = self.weights.n_ctx_train if options.within_training else 0
        n_ctx = min(options.n_ctx, trained or options.n_ctx)
        self.options = replace(options, n_ctx=n_ctx)
        self._stop = stop
        self._ids: list[int] = []
        self._cache: NativeCache | None = None
        try:
            self._cache = self.weights.open_cache(self.options, stop)
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
        """Feed `ids`; a view of the library's logits behind the last `n_rows`, shape (n_rows, n_vocab) float32.

        At most N_BATCH rows at once. Raises: ValueError if they do not fit; Interrupted when the stop flag is set;
        GenerationError when the library fails.
        """
        cache = self._open
        if not 0 <= n_rows <= min(len(ids), N_BATCH):
            raise ValueError(f"{n_rows} rows of logits asked of {len(ids)} tokens (at most {N_BATCH} at once)")
        if len(self._ids) + len(ids) > self.options.n_ctx:
            raise ValueError(f"{len(self._ids)} + {len(ids)} tokens do not fit into a context of {self.options.n_ctx}")
        at = 0
        while at < len(ids):
            # The last call must hold all rows asked for: the library keeps the logits of one call only.
            n = min(N_BATCH, len(ids) - at) if len(ids) - at <= N_BATCH else min(N_BATCH, len(ids) - at - n_rows)
            self._pass(cache, ids[at : at + n], n_rows if at + n == len(ids) else 0)
            at += n
        if n_rows == 0:
            cache.wait()
            return np.empty((0, self.n_vocab), np.float32)
        return cache.rows(n_rows)[:, : self.n_vocab]

    def truncate(self, length: int) -> None:
        """Cut the cache back to its first `length` tokens. Raises ModelError if this kind of cache cannot do that."""
        if not 0 <= length <= len(self._ids):
            raise ValueError(f"cannot cut a cache of {len(self._ids)} tokens to {length}")
        if length == len(self._ids):
            return
        if self._has_lost(length) or not self._open.cut(length):
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

        What keeps a cell for each token needs no trial; each cut of it is checked. Raises GenerationError if the
        library fails.
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
        return self._open.first_position() > max(0, length - window)

    def cells(self) -> NDArray[np.uint8]:
        """What the cache holds of the text, bit for bit, as the library writes it out."""
        return self._open.cells()

    @property
    def takes_copies(self) -> bool:
        """Whether cells can be put beside the text."""
        return self._open.takes_copies

    def put_cells(self, cells: NDArray[np.uint8], sequence: int) -> None:
        """Let a copy of `cells` take up room in the cache as another text (1 to n_sequences - 1), unseen by this one.

        Raises GenerationError if there is no room for it.
        """
        self._open.put_cells(cells, sequence)

    def close(self) -> None:
        """Free the cache, and the model if it is its own; the cache is empty then. May be called twice."""
        self._ids.clear()
        if self._cache is not None:
            self._cache.close()
            self._cache = None
        if self._owns_weights:
            self.weights.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    @property
    def _open(self) -> NativeCache:
        if self._cache is None:
            raise ValueError("the model is closed")
        return self._cache

    def _pass(self, cache: NativeCache, ids: Sequence[int], n_rows: int) -> None:
        start = len(self._ids)
        try:
            cache.decode(ids, start, n_rows)
        except (Interrupted, GenerationError):
            # Some cells may be in the cache already.
            if not cache.cut(start):
                cache.clear()
                self._ids.clear()
            raise
        self._ids.extend(ids)
