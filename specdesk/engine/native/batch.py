"""The tokens of one pass, as the native libraries take them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from specdesk.core.lm import Logits
from specdesk.memory import PASS_TOKENS


class Batch:
    """A llama_batch filled through NumPy views of its arrays: one sequence, consecutive positions."""

    def __init__(self, struct: Any) -> None:
        """`struct` is an empty one, of the library's own layout."""
        size = PASS_TOKENS
        self._ids = np.zeros(size, np.int32)
        self._positions = np.zeros(size, np.int32)
        self._wanted = np.zeros(size, np.int8)
        self._n_seq = np.ones(size, np.int32)
        self._seq = (ctypes.c_int32 * 1)(0)
        pointers: list[Any] = [*[self._seq] * size, None]
        self._seqs = (ctypes.POINTER(ctypes.c_int32) * len(pointers))(*pointers)
        self._struct = struct
        kinds = dict(type(struct)._fields_)
        for field, array in (
            ("token", self._ids),
            ("pos", self._positions),
            ("n_seq_id", self._n_seq),
            ("logits", self._wanted),
        ):
            setattr(struct, field, ctypes.cast(array.ctypes.data, kinds[field]))
        struct.seq_id = ctypes.cast(self._seqs, kinds["seq_id"])

    def fill(self, ids: Sequence[int], start: int, n_rows: int) -> Any:
        """The struct with `ids` from position `start` on, logits asked for of the last `n_rows`."""
        n = len(ids)
        self._ids[:n] = ids
        self._positions[:n] = np.arange(start, start + n)
        self._wanted[: n - n_rows] = 0
        self._wanted[n - n_rows : n] = 1
        self._struct.n_tokens = n
        return self._struct


def view(address: int, n_rows: int, n_tokens: int) -> Logits:
    """The floats there, shape (n_rows, n_tokens), not copied."""
    floats = (ctypes.c_float * (n_rows * n_tokens)).from_address(address)
    return np.frombuffer(memoryview(floats), np.float32).reshape(n_rows, -1)
