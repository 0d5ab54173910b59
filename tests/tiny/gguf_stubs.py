"""GGUF files that are all header: metadata as converters write it, and no weights unless they are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from gguf import GGUFWriter, LlamaFileType, TokenType

WORDS = ("<unk>", "<s>", "</s>", "a", "b", "c")


def write_stub(
    path: Path,
    name: str = "Stub",
    *,
    words: Sequence[str] = WORDS,
    special: Sequence[str] = (),
    n_padding: int = 0,
    architecture: str = "llama",
    purpose: str | None = "model",
    file_type: LlamaFileType = LlamaFileType.MOSTLY_Q4_K_M,
    n_head: int = 8,
    n_head_kv: int | Sequence[int] | None = 2,
    key_length: int | None = None,
    n_layer: int = 3,
    n_ctx_train: int = 4096,
    n_parts: int | None = None,
    recurrent: bool = False,
    window: int | None = None,
    n_experts: int | None = None,
    n_inner: int | Sequence[int] | None = None,
    tensors: Mapping[str, tuple[int, int]] | None = None,
    alignment: int | None = None,
) -> Path:
    """Write it; returns the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = GGUFWriter(path, architecture)
    if alignment is not None:
        writer.add_custom_alignment(alignment)
    for tensor, (width, height) in (tensors or {}).items():
        writer.add_tensor(tensor, np.zeros((height, width), dtype=np.float32))
    if purpose is not None:
        writer.add_type(purpose)
    writer.add_name(name)
    writer.add_context_length(n_ctx_train)
    writer.add_embedding_length(64)
    writer.add_block_count(n_layer)
    writer.add_head_count(n_head)
    if n_head_kv is not None:
        writer.add_head_count_kv(n_head_kv)  # type: ignore[arg-type, unused-ignore]
    if key_length is not None:
        writer.add_key_length(key_length)
        writer.add_value_length(key_length)
    if recurrent:
        writer.add_ssm_state_size(16)
    if window is not None:
        writer.add_sliding_window(window)
    if n_experts is not None:
        writer.add_expert_count(n_experts)
        writer.add_expert_used_count(2)
    if n_inner is not None:
        writer.add_feed_forward_length(n_inner)
    if n_parts is not None:
        writer.add_uint16("split.count", n_parts)
    if words:
        writer.add_tokenizer_model("gpt2")
        writer.add_token_list([*words, *special, *(f"[PAD{i}]" for i in range(n_padding))])
        kinds = [TokenType.NORMAL] * len(words) + [TokenType.CONTROL] * len(special)
        writer.add_token_types(kinds + [TokenType.UNUSED] * n_padding)
        writer.add_token_merges(["a b", "b c"])
    writer.add_chat_template("{{ messages }}")
    writer.add_file_type(file_type)  # llama.cpp's quantizer writes it last
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    if tensors:
        writer.write_tensors_to_file()
    writer.close()
    if tensors:
        # The writer pads the last one too, which nobody needs.
        width, height = list(tensors.values())[-1]
        padding = -(width * height * 4) % writer.data_alignment
        path.write_bytes(path.read_bytes()[: -padding or None])
    return path


def lock(monkeypatch: pytest.MonkeyPatch, locked: Path) -> None:
    """Make a file one that may not be opened, also by root."""
    opened = Path.open

    def guarded(self: Path, *args: object, **kwargs: object) -> object:
        if self == locked:
            raise PermissionError(13, "Permission denied", str(self))
        return opened(self, *args, **kwargs)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", guarded)
