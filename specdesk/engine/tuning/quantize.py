"""Other formats of a GGUF file, made with llama.cpp's own quantizer in a process of its own.

The quantizer cannot be told to stop, and ends the process on what it does not expect: a child can be ended, and its end
survived.
"""

from __future__ import annotations

import ctypes
import os
import shutil
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

# Before llama_cpp: it sets what ggml reads when it is loaded.
from specdesk.engine.native_log import native_log

import llama_cpp  # isort: skip
from rich.filesize import decimal

from specdesk.engine.child import ChildDiedError, in_child
from specdesk.engine.gguf import check_gguf, read_tensors
from specdesk.engine.stop import StopFlag
from specdesk.errors import ModelError, StorageError
from specdesk.paths import ROOM_HINT

HEADROOM_BYTES: Final = 2**28
"""Free space asked for beyond the file."""


class Format(StrEnum):
    """How weights are stored; every matrix alike, those of token embeddings and output too."""

    Q4_0 = "Q4_0"
    Q8_0 = "Q8_0"
    BF16 = "BF16"

    @property
    def bytes_per_weight(self) -> float:
        """What a weight of a matrix takes; scales included."""
        return _BYTES_PER_WEIGHT[self]


_BYTES_PER_WEIGHT: Final = {Format.Q4_0: 18 / 32, Format.Q8_0: 34 / 32, Format.BF16: 2.0}
_FILE_TYPES: Final = {
    Format.Q4_0: llama_cpp.LLAMA_FTYPE_MOSTLY_Q4_0,
    Format.Q8_0: llama_cpp.LLAMA_FTYPE_MOSTLY_Q8_0,
    Format.BF16: llama_cpp.LLAMA_FTYPE_MOSTLY_BF16,
}
_TENSOR_TYPES: Final = {Format.Q4_0: 2, Format.Q8_0: 8, Format.BF16: 30}
"""ggml's numbers, which are part of the file format; llama-cpp-python has no name for the last."""


def has_format(path: Path, wanted: Format) -> bool:
    """Whether all matrices of the file are stored like that already. Raises ModelError if it cannot be read."""
    return read_tensors(path).types == {_TENSOR_TYPES[wanted]}


def quantize(source: Path, path: Path, wanted: Format, n_threads: int, stop: StopFlag) -> None:
    """Write `source` as `path` in another format. The file gets its name when it is complete; no part is left behind.

    Takes some seconds per gigabyte. The folder is made if it is not there.
    Raises: StorageError if the disk has not enough room or refuses; ModelError, with llama.cpp's reason, for a file
    that cannot be read or quantized; Interrupted if stopped.
    """
    check_gguf(source)
    part = part_of(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.unlink(missing_ok=True)  # of a run that was killed
        _refuse_without_space(source, path, wanted)
        try:
            try:
                reason = in_child(_quantize, (source, part, wanted, n_threads), stop)
            except ChildDiedError as error:
                reason = f"the quantizer ended with code {error.code}"
            if reason is not None:
                raise ModelError(f"{source.name} cannot be written as {wanted}", reason)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}", ROOM_HINT) from error


def part_of(path: Path) -> Path:
    """Where a file is written until it is complete."""
    return path.with_name(f"{path.name}.part")


def _refuse_without_space(source: Path, path: Path, wanted: Format) -> None:
    tensors = read_tensors(source)
    needed = int(tensors.n_weights * wanted.bytes_per_weight) + tensors.header_bytes + HEADROOM_BYTES
    free = shutil.disk_usage(path.parent).free
    if free < needed:
        raise StorageError(f"{decimal(needed)} needed in {path.parent}, {decimal(free)} free", ROOM_HINT)


def _quantize(source: Path, part: Path, wanted: Format, n_threads: int) -> str | None:
    """Why it could not; None if it did."""
    params: Any = llama_cpp.llama_model_quantize_default_params()
    params.ftype = _FILE_TYPES[wanted]
    params.nthread = n_threads
    params.allow_requantize = True
    params.token_embedding_type = params.output_tensor_type = _TENSOR_TYPES[wanted]
    code = llama_cpp.llama_model_quantize(os.fsencode(source), os.fsencode(part), ctypes.byref(params))
    return None if code == 0 else native_log.reason() or "llama.cpp gave no reason"
