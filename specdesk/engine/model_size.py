"""What a GGUF file says of the memory its model will take, before it is loaded."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any, Final

from specdesk.engine.gguf import opened
from specdesk.memory import ModelSize
from specdesk.split_names import all_names

_UINT32: Final = 4
_INT32: Final = 5
_STRING: Final = 8
_ARRAY: Final = 9
"""GGUF's numbers of the kinds of entries. ggml ends the process when it is asked for another kind than an entry has."""


def read_size(path: Path) -> ModelSize:
    """As far as the file says it; 0 for the rest. Further files of a split model, beside it, are counted.

    Raises ModelError for a file that is missing or no GGUF file, and where this build of ggml cannot tell.
    """
    with opened(path) as (library, file):
        entries = _Entries(library, file)
        architecture = entries.text("general.architecture")
        attention = f"{architecture}.attention"
        n_layers = entries.number(f"{architecture}.block_count")
        width = entries.number(f"{architecture}.embedding_length")
        heads = entries.number(f"{attention}.head_count")
        each = entries.numbers(f"{attention}.head_count_kv") or [heads]
        kv_heads = sum(each) if len(each) > 1 else n_layers * each[0]
        head = width // heads if heads else 0
        return ModelSize(
            _bytes_of(path),
            kv_heads * (entries.number(f"{attention}.key_length") or head),
            kv_heads * (entries.number(f"{attention}.value_length") or head),
            entries.length("tokenizer.ggml.tokens"),
            width,
            entries.number(f"{architecture}.feed_forward_length"),
            n_layers,
            entries.number(f"{architecture}.context_length"),
        )


class _Entries:
    """The metadata of an open file."""

    def __init__(self, library: Any, file: int) -> None:
        self._library = library
        self._file = file

    def text(self, key: str) -> str:
        at, kind = self._find(key)
        found = self._library.gguf_get_val_str(self._file, at) if kind == _STRING else b""
        return str(found.decode("utf-8", errors="replace"))

    def number(self, key: str) -> int:
        """The number, or the largest of several."""
        return max(self.numbers(key), default=0)

    def numbers(self, key: str) -> list[int]:
        at, kind = self._find(key)
        if kind == _UINT32:
            return [int(self._library.gguf_get_val_u32(self._file, at))]
        if kind != _ARRAY or self._library.gguf_get_arr_type(self._file, at) not in (_UINT32, _INT32):
            return []
        n = self._library.gguf_get_arr_n(self._file, at)
        return list((ctypes.c_uint32 * n).from_address(self._library.gguf_get_arr_data(self._file, at))) if n else []

    def length(self, key: str) -> int:
        """Of an array."""
        at, kind = self._find(key)
        return int(self._library.gguf_get_arr_n(self._file, at)) if kind == _ARRAY else 0

    def _find(self, key: str) -> tuple[int, int]:
        at = self._library.gguf_find_key(self._file, key.encode())
        return at, self._library.gguf_get_kv_type(self._file, at) if at >= 0 else -1


def _bytes_of(path: Path) -> int:
    files = [path.with_name(name) for name in all_names(path.name)]
    return sum(file.stat().st_size for file in files if file.is_file())
