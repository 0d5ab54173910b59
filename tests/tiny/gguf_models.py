"""Real GGUF files of under a megabyte: llama architecture, random weights, a token per byte.

The weights are drawn from a seed, so a file is the same on every machine. A constant first channel serves as a bias on
the logits: printable ASCII is likely, control tokens all but impossible, and padding likelier than almost all else, so
that nothing but the code under test keeps it out of an answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from zlib import crc32

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter, LlamaFileType, TokenType
from gguf.quants import quantize
from numpy.typing import NDArray

N_EMBD = 64
N_FF = 128
N_LAYER = 2
_N_CONV, _N_INNER, _N_STATE, _N_RANK = 4, 128, 16, 4
"""Of the architecture mamba."""
_GEMMAS = ("gemma3", "gemma-embedding")
SPACE = "\u2581"
"""How SentencePiece writes a space."""

Array = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class TinyVocabulary:
    """Token texts and types in the order of their ids."""

    tokens: tuple[tuple[str, TokenType], ...]
    model: str = "llama"
    """The tokenizer's name in the file: llama is SentencePiece; rwkv knows no BOS."""

    def with_tokens(self, texts: Sequence[str], kind: TokenType) -> TinyVocabulary:
        """Further tokens at the end."""
        return replace(self, tokens=(*self.tokens, *((text, kind) for text in texts)))

    def padded(self, n: int) -> TinyVocabulary:
        """`n` unused tokens at the end, as converters fill a table up to a round size."""
        size = len(self.tokens)
        return self.with_tokens([f"[PAD{i}]" for i in range(size, size + n)], TokenType.UNUSED)

    def swapped(self, a: int, b: int) -> TinyVocabulary:
        """The same size and the same texts, but two of them in each other's place."""
        tokens = list(self.tokens)
        tokens[a], tokens[b] = tokens[b], tokens[a]
        return replace(self, tokens=tuple(tokens))


BYTES = TinyVocabulary(
    (
        ("<unk>", TokenType.UNKNOWN),
        ("<s>", TokenType.CONTROL),
        ("</s>", TokenType.CONTROL),
        *((f"<0x{byte:02X}>", TokenType.BYTE) for byte in range(256)),
        (SPACE, TokenType.NORMAL),
    )
)
"""Unknown, BOS, EOS, every byte, and the space, which would otherwise come back as the three bytes of SPACE."""

CHAT = BYTES.with_tokens(["<|im_start|>", "<|im_end|>"], TokenType.CONTROL)
"""With the two control tokens that ChatML templates write out. llama.cpp knows <|im_end|> as an end of generation."""

RWKV = TinyVocabulary(tuple((f"\\x{byte:02x}", TokenType.NORMAL) for byte in range(256)), model="rwkv")
"""Another kind of tokenizer, and one without any BOS."""

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@dataclass(frozen=True, slots=True)
class TinyModel:
    """What `write` makes a file of."""

    vocabulary: TinyVocabulary = BYTES
    seed: int = 3
    noise: float = 0.0
    """How much of another draw is added to all weights, in parts of their own scale: a draft that is nearly right."""
    chat_template: str | None = None
    add_bos: bool | None = None
    """None leaves the choice to llama.cpp: true for the kind llama."""
    space_prefix: bool = False
    """Whether the tokenizer puts a space before every text, as SentencePiece does unless told otherwise."""
    name: str = "tiny"
    n_ctx_train: int = 2048
    quantization: GGMLQuantizationType = GGMLQuantizationType.F32
    """Of the weight matrices: F32 or Q8_0."""
    n_head: int = 2
    n_experts: int = 0
    """Experts in the place of each dense block, of which a token takes 2; 0: none."""
    architecture: str = "llama"
    """llama, mamba (a running state and no attention) or gemma3 (layers with a sliding window); or one that llama.cpp
    makes of the same tensors, and that writes no text: llama-embed, llada, gemma-embedding."""
    n_layer: int = N_LAYER
    window: int = 0
    """Tokens that gemma3's layers look back, but for every sixth."""
    causal: bool | None = None
    """Whether tokens look at those before them only; None: the file does not say."""


TARGET = TinyModel(name="tiny target")
DRAFT = replace(TARGET, noise=0.06, name="tiny draft")
MAMBA = replace(TARGET, architecture="mamba", name="tiny mamba")
GEMMA = replace(TARGET, architecture="gemma3", n_layer=6, window=32, name="tiny gemma")
EXPERTS = replace(TARGET, n_experts=4, name="tiny experts")


def write(path: Path, model: TinyModel, *, split_after: int = 0) -> Path:
    """Write `model` as a GGUF file; returns the path. With `split_after`, in files of so many tensors beside it."""
    writer = GGUFWriter(path, model.architecture, split_max_tensors=split_after)
    _write_metadata(writer, model)
    for name, weights in tensors(model).items():
        if weights.ndim == 1 or model.quantization is GGMLQuantizationType.F32:
            writer.add_tensor(name, weights)
        else:
            writer.add_tensor(name, quantize(weights, model.quantization), raw_dtype=model.quantization)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _write_metadata(writer: GGUFWriter, model: TinyModel) -> None:
    tokens = model.vocabulary.tokens
    quantized = model.quantization is GGMLQuantizationType.Q8_0
    writer.add_name(model.name)
    writer.add_file_type(LlamaFileType.MOSTLY_Q8_0 if quantized else LlamaFileType.ALL_F32)
    writer.add_context_length(model.n_ctx_train)
    writer.add_embedding_length(N_EMBD)
    writer.add_block_count(model.n_layer)
    writer.add_feed_forward_length(N_FF)
    writer.add_head_count(model.n_head)
    writer.add_head_count_kv(model.n_head)
    writer.add_rope_dimension_count(N_EMBD // model.n_head)
    writer.add_layer_norm_rms_eps(1e-5)
    if model.window:
        writer.add_sliding_window(model.window)
    if model.causal is not None:
        writer.add_causal_attention(model.causal)
    if model.architecture == "mamba":
        writer.add_ssm_conv_kernel(_N_CONV)
        writer.add_ssm_inner_size(_N_INNER)
        writer.add_ssm_state_size(_N_STATE)
        writer.add_ssm_time_step_rank(_N_RANK)
    if model.n_experts:
        writer.add_expert_count(model.n_experts)
        writer.add_expert_used_count(2)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model(model.vocabulary.model)
    writer.add_token_list([text for text, _ in tokens])
    writer.add_token_types([kind for _, kind in tokens])
    if model.vocabulary.model == "llama":
        writer.add_token_scores([0.0] * len(tokens))
        writer.add_bos_token_id(1)
        writer.add_eos_token_id(2)
        writer.add_unk_token_id(0)
        writer.add_add_space_prefix(model.space_prefix)
    if model.add_bos is not None:
        writer.add_add_bos_token(model.add_bos)
    if model.chat_template is not None:
        writer.add_chat_template(model.chat_template)


def tensors(model: TinyModel) -> dict[str, Array]:
    """Its weights, by name."""
    found: dict[str, Array] = {"output_norm.weight": np.ones(N_EMBD, np.float32)}

    def draw(name: str, rows: int, columns: int, scale: float, n_copies: int = 0) -> None:
        # A stream per tensor: rows added at the end of a vocabulary leave all other weights as they were.
        key = [model.seed, crc32(name.encode())]
        shape = (n_copies, rows, columns) if n_copies else (rows, columns)
        weights = np.random.default_rng(key).normal(size=shape)
        if model.noise:
            weights += model.noise * np.random.default_rng([*key, 1]).normal(size=shape)
        found[f"{name}.weight"] = (scale * weights).astype(np.float32)

    into = N_EMBD**-0.5

    def attention(block: str) -> None:
        for part in ("q", "k", "v"):
            draw(f"{block}.attn_{part}", N_EMBD, N_EMBD, 1.5 * into)
        draw(f"{block}.attn_output", N_EMBD, N_EMBD, into)
        experts = "_exps" if model.n_experts else ""
        if experts:
            draw(f"{block}.ffn_gate_inp", model.n_experts, N_EMBD, into)
        draw(f"{block}.ffn_gate{experts}", N_FF, N_EMBD, into, model.n_experts)
        draw(f"{block}.ffn_up{experts}", N_FF, N_EMBD, into, model.n_experts)
        draw(f"{block}.ffn_down{experts}", N_EMBD, N_FF, N_FF**-0.5, model.n_experts)
        norms = {"attn_norm": N_EMBD, "ffn_norm": N_EMBD}
        if model.architecture in _GEMMAS:
            head = N_EMBD // model.n_head
            norms |= {"post_attention_norm": N_EMBD, "post_ffw_norm": N_EMBD, "attn_q_norm": head, "attn_k_norm": head}
        for norm, width in norms.items():
            found[f"{block}.{norm}.weight"] = np.ones(width, np.float32)
        # No layer writes to the first channel: it stays what the embedding puts there.
        found[f"{block}.attn_output.weight"][0] = 0.0
        found[f"{block}.ffn_down{experts}.weight"][..., 0, :] = 0.0

    def running_state(block: str) -> None:
        draw(f"{block}.ssm_in", 2 * _N_INNER, N_EMBD, into)
        draw(f"{block}.ssm_conv1d", _N_INNER, _N_CONV, 0.5)
        draw(f"{block}.ssm_x", _N_RANK + 2 * _N_STATE, _N_INNER, _N_INNER**-0.5)
        draw(f"{block}.ssm_dt", _N_INNER, _N_RANK, 0.5)
        draw(f"{block}.ssm_out", N_EMBD, _N_INNER, _N_INNER**-0.5)
        found[f"{block}.ssm_out.weight"][0] = 0.0
        found[f"{block}.ssm_conv1d.bias"] = np.zeros(_N_INNER, np.float32)
        found[f"{block}.ssm_dt.bias"] = np.full(_N_INNER, -2.0, np.float32)
        found[f"{block}.ssm_a"] = np.tile(-np.arange(1, _N_STATE + 1, dtype=np.float32), (_N_INNER, 1))
        found[f"{block}.ssm_d"] = np.ones(_N_INNER, np.float32)
        found[f"{block}.attn_norm.weight"] = np.ones(N_EMBD, np.float32)

    for layer in range(model.n_layer):
        (running_state if model.architecture == "mamba" else attention)(f"blk.{layer}")
    n_vocab = len(model.vocabulary.tokens)
    draw("token_embd", n_vocab, N_EMBD, 1.0)
    draw("output", n_vocab, N_EMBD, 3.5 * into)
    found["token_embd.weight"][:, 0] = 1.0
    if model.architecture in _GEMMAS:
        found["token_embd.weight"] *= np.float32(into)  # it multiplies them by the inverse
    found["output.weight"][:, 0] = [_bias(text, kind) for text, kind in model.vocabulary.tokens]
    return found


def _bias(text: str, kind: TokenType) -> float:
    match kind:
        case TokenType.CONTROL | TokenType.UNKNOWN:
            return -60.0
        case TokenType.UNUSED:
            return 10.0
        case TokenType.BYTE:
            return 2.0 if 0x20 <= int(text[3:5], 16) < 0x7F else 0.0
        case _:
            return 2.0


@dataclass(frozen=True, slots=True)
class TinyPair:
    """Files of a target and of a draft that agrees with it on some three tokens in four."""

    target: Path
    draft: Path


def write_pair(folder: Path) -> TinyPair:
    """The pair most tests use."""
    return TinyPair(write(folder / "target.gguf", TARGET), write(folder / "draft.gguf", DRAFT))


def write_quantized_pair(folder: Path) -> TinyPair:
    """The same as Q8_0 and with a chat template: it has wide passes that round as one-token passes do, F32 has none."""
    changes = {"vocabulary": CHAT, "chat_template": CHATML, "quantization": GGMLQuantizationType.Q8_0}
    return TinyPair(
        write(folder / "target.gguf", replace(TARGET, **changes)),
        write(folder / "draft.gguf", replace(DRAFT, **changes)),
    )
