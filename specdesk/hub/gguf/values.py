"""The values of a GGUF file's metadata, one after the other, without reading what nobody asked for."""

from __future__ import annotations

import math
import os
import struct
from enum import IntEnum
from typing import BinaryIO, Final

from specdesk.errors import ModelError
from specdesk.hub.gguf.magic import MAGIC
from specdesk.hub.gguf.weight_sizes import size_of

Value = int | float | bool | str

_MOST_BYTES: Final = 2**28
"""Longer metadata is taken for damage: the largest vocabularies take some ten megabytes."""


class Kind(IntEnum):
    """How a value is stored."""

    UINT8 = 0
    INT8 = 1
    UINT16 = 2
    INT16 = 3
    UINT32 = 4
    INT32 = 5
    FLOAT32 = 6
    BOOL = 7
    STRING = 8
    ARRAY = 9
    UINT64 = 10
    INT64 = 11
    FLOAT64 = 12


_FORMATS: Final = {
    Kind.UINT8: "B",
    Kind.INT8: "b",
    Kind.UINT16: "H",
    Kind.INT16: "h",
    Kind.UINT32: "I",
    Kind.INT32: "i",
    Kind.FLOAT32: "f",
    Kind.BOOL: "?",
    Kind.UINT64: "Q",
    Kind.INT64: "q",
    Kind.FLOAT64: "d",
}
_AHEAD: Final = 2**16
"""Bytes that are read at a time, at least."""
_MOST_DIMENSIONS: Final = 8
_LENGTH: Final = struct.Struct("<Q")


class GgufValues:
    """Reads a file from its beginning.

    Everything raises ModelError where the file ends too early or is none; it is called `it` there.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._size = os.fstat(file.fileno()).st_size
        self._left = min(self._size, _MOST_BYTES)
        self._buffer = b""
        self._at = 0
        self.n_tensors = 0
        """How many are described behind the entries, as far as the file has been read."""

    def begin(self) -> int:
        """How many entries follow. Raises ModelError for what is no GGUF file, or one that llama.cpp would not read."""
        if self._file.read(len(MAGIC)) != MAGIC:
            raise ModelError("it is not a GGUF file", "it does not begin with the letters GGUF")
        self._left -= len(MAGIC)
        (version,) = struct.unpack("<I", self.take(4))
        if version > 0xFFFF:
            raise ModelError("it is a big-endian GGUF file, which cannot be loaded on this machine")
        if version < 2:
            raise ModelError(f"it is of GGUF version {version}, which llama.cpp no longer reads")
        self.n_tensors = self.length()
        return self.length()

    def take(self, n_bytes: int) -> bytes:
        """The next so many bytes."""
        self._need(n_bytes)
        taken = self._buffer[self._at : self._at + n_bytes]
        self._at += n_bytes
        return taken

    def length(self) -> int:
        """A count or a length."""
        return int(_LENGTH.unpack(self.take(8))[0])

    def text(self) -> str:
        """A string; bytes that are no UTF-8 are replaced."""
        return self.take(self.length()).decode("utf-8", errors="replace")

    def tensor(self) -> tuple[str, int, int]:
        """Name and number of weights of the next tensor, which stand behind the entries, and where its bytes end.

        These are counted from where the weights begin.
        """
        name = self.text()
        n_dimensions = int.from_bytes(self.take(4), "little")
        if n_dimensions > _MOST_DIMENSIONS:
            raise self.damaged(f"a tensor in it has {n_dimensions:,} dimensions")
        n_weights = math.prod(self.numbers(Kind.UINT64, n_dimensions))
        kind = int.from_bytes(self.take(4), "little")
        return name, n_weights, self.length() + size_of(n_weights, kind)

    def check_length(self, n_bytes: int, alignment: int) -> None:
        """Whether the file has so many bytes of weights, which begin behind what has been read, on an even boundary."""
        begin = self._file.tell() - (len(self._buffer) - self._at)
        begin += -begin % max(1, alignment)
        if n_bytes and begin + n_bytes > self._size:
            raise ModelError(f"it is cut off: it has {self._size:,} of {begin + n_bytes:,} bytes", "download it again")

    def kind(self) -> Kind:
        """How the next value is stored."""
        number = int.from_bytes(self.take(4), "little")
        try:
            return Kind(number)
        except ValueError:
            raise self.damaged(f"a value in it is of kind {number}") from None

    def number(self, kind: Kind) -> int | float | bool:
        """A number or a truth value."""
        code = struct.Struct(f"<{_FORMATS[kind]}")
        value: int | float | bool = code.unpack(self.take(code.size))[0]
        return value

    def array(self) -> tuple[Kind, int]:
        """Kind and number of the items that follow."""
        kind, n = self.kind(), self.length()
        if kind is Kind.ARRAY:
            raise self.damaged("it holds arrays of arrays")
        return kind, n

    def numbers(self, kind: Kind, n: int) -> list[int]:
        """The items of an array of whole numbers."""
        code = _FORMATS[kind]
        return list(struct.unpack(f"<{n}{code}", self.take(n * struct.calcsize(f"<{code}"))))

    def texts(self, n: int) -> list[bytes]:
        """The items of an array of strings."""
        texts: list[bytes] = []
        while len(texts) < n:
            if not self._pass_texts(n - len(texts), texts):
                texts.append(self.take(self.length()))
        return texts

    def skip_items(self, kind: Kind, n: int) -> None:
        """Pass over the items of an array."""
        if kind is not Kind.STRING:
            self.take(n * struct.calcsize(f"<{_FORMATS[kind]}"))
            return
        while n:
            passed = self._pass_texts(n)
            if not passed:
                self.take(self.length())
            n -= passed or 1

    def damaged(self, what: str) -> ModelError:
        """An error to be raised."""
        return ModelError(f"it is damaged: {what}", "download it again")

    def _pass_texts(self, n: int, texts: list[bytes] | None = None) -> int:
        """Go past those of the next strings that were read ahead, in one go: a vocabulary has 150,000. How many."""
        buffer, at, size, unpack = self._buffer, self._at, len(self._buffer), _LENGTH.unpack_from
        for passed in range(n):
            start = at + _LENGTH.size
            end = start + unpack(buffer, at)[0] if start <= size else start
            if end > size:
                n = passed
                break
            if texts is not None:
                texts.append(buffer[start:end])
            at = end
        self._at = at
        return n

    def _need(self, n_bytes: int) -> None:
        """Have so many bytes in the buffer."""
        missing = n_bytes - (len(self._buffer) - self._at)
        if missing <= 0:
            return
        # Asked before reading: a damaged length may be larger than any memory.
        read = b"" if missing > self._left else self._file.read(min(self._left, max(missing, _AHEAD)))
        self._left -= len(read)
        self._buffer, self._at = self._buffer[self._at :] + read, 0
        if len(read) < missing:
            raise ModelError("it is cut off inside its header, or damaged", "download it again")
