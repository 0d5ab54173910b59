"""What a native library is asked for: weights from a file, and caches that work with them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from specdesk.core.lm import Logits
from specdesk.engine.load_options import LoadOptions
from specdesk.engine.stop import StopFlag
from specdesk.engine.vocabulary import LlamaVocabulary


class NativeCache(Protocol):
    """Keys and values of one text, and the passes over it. Whoever owns it knows which tokens it holds."""

    @property
    def takes_copies(self) -> bool:
        """Whether `put_cells` serves here."""

    def decode(self, ids: Sequence[int], start: int, n_rows: int) -> None:
        """Feed at most PASS_TOKENS tokens behind the first `start`; logits are kept of the last `n_rows`.

        Raises: Interrupted when the stop flag is set; GenerationError when the library fails. Some of the tokens may be
        in the cache then.
        """

    def wait(self) -> None:
        """Until the last pass is computed."""

    def rows(self, n_rows: int) -> Logits:
        """The library's own logits of the last pass, shape (n_rows, tokens of the vocabulary), valid until the next.

        Raises GenerationError if there are none.
        """

    def cut(self, length: int) -> bool:
        """Keep the first `length` tokens only; whether this kind of cache could do that."""

    def clear(self) -> None:
        """Forget all of it."""

    def first_position(self) -> int:
        """Of the text, which cell is the first that is left; -1 of an empty one."""

    def cells(self) -> NDArray[np.uint8]:
        """What it holds of the text, bit for bit, as the library writes it out."""

    def put_cells(self, cells: NDArray[np.uint8], sequence: int) -> None:
        """Let a copy of `cells` take up room as another text (1 to n_sequences - 1), unseen by the first.

        Raises GenerationError if there is no room for it.
        """

    def close(self) -> None:
        """Free it."""


class NativeWeights(Protocol):
    """A loaded model and what its file says about it. Close it after every cache that works with it."""

    path: Path
    vocabulary: LlamaVocabulary
    lock_problem: str
    """Why the weights could not be kept from being swapped out, where that was asked for."""

    @property
    def n_ctx_train(self) -> int:
        """The context length the model was trained for; 0 where its file does not tell."""

    @property
    def keeps_state(self) -> bool:
        """Whether some layers keep a running state in the place of a cell for each token."""

    @property
    def window(self) -> int:
        """Tokens that layers which forget what lies behind look back; 0 without such layers."""

    @property
    def name(self) -> str:
        """The model's own name, or its file's."""

    @property
    def chat_template(self) -> str | None:
        """The Jinja chat template in the file."""

    def metadata(self, key: str) -> str | None:
        """A metadata entry as text."""

    def open_cache(self, options: LoadOptions, stop: StopFlag) -> NativeCache:
        """An empty cache; passes end while `stop` is set. Raises ModelError, with the reason, if it does not fit."""

    def close(self) -> None:
        """Free them. May be called twice."""
