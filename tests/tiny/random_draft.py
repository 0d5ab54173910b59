"""A draft of random weights with the tokenizer of a real model: it pairs, and is right only by chance."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from gguf import GGUFReader, GGUFValueType, GGUFWriter

N_EMBD = 64
N_FF = 128


def write_random_draft(path: Path, tokenizer_of: Path) -> Path:
    """One layer of the llama architecture, some 80 MB with a vocabulary of 150,000."""
    rng = np.random.default_rng(1)
    writer = GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_context_length(4096)
    writer.add_embedding_length(N_EMBD)
    writer.add_feed_forward_length(N_FF)
    writer.add_head_count(2)
    writer.add_layer_norm_rms_eps(1e-5)
    n_vocab = 0
    for field in GGUFReader(tokenizer_of).fields.values():
        if not field.name.startswith("tokenizer."):
            continue
        kind, value = field.types[0], field.contents()
        if field.name == "tokenizer.ggml.tokens":
            n_vocab = len(value)
        writer.add_key_value(field.name, value, kind, field.types[-1] if kind is GGUFValueType.ARRAY else None)
    shapes = {
        "token_embd": (n_vocab, N_EMBD),
        "output": (n_vocab, N_EMBD),
        "blk.0.attn_q": (N_EMBD, N_EMBD),
        "blk.0.attn_k": (N_EMBD, N_EMBD),
        "blk.0.attn_v": (N_EMBD, N_EMBD),
        "blk.0.attn_output": (N_EMBD, N_EMBD),
        "blk.0.ffn_gate": (N_FF, N_EMBD),
        "blk.0.ffn_up": (N_FF, N_EMBD),
        "blk.0.ffn_down": (N_EMBD, N_FF),
    }
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", rng.normal(0, 0.5, shape).astype(np.float32))
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(N_EMBD, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
