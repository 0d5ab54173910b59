"""What a GGUF file says of itself in its first megabytes: which model, how quantized, how large its cache will be."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from specdesk.errors import ModelError
from specdesk.hub.gguf.file_types import FILE_TYPES
from specdesk.hub.gguf.values import GgufValues, Kind, Value
from specdesk.memory import ModelSize

_MOST_ENTRIES: Final = 2**16
_MOST_NUMBERS: Final = 2**60
_ALIGNMENT: Final = 32
"""Of the weights, where a file says nothing else."""
_NORMAL: Final = 1
_UNUSED: Final = 5
_SPECIAL: Final = frozenset((2, 3, 4, _UNUSED))
"""Unknown, control, user-defined, unused."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Which tokens a model knows; two that are equal name the same."""

    n_used: int
    """Without the padding at its end, as the engine counts."""
    sha256: str
    """Of the tokenizer's kind and all their texts."""


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """What a file says of itself; empty, or 0, where it does not."""

    architecture: str
    name: str
    purpose: str
    """`model` for one that generates; converters write other words for what goes with one."""
    quantization: str
    n_ctx_train: int
    keys: int
    """Numbers that one token adds to the cache of keys, in all layers together."""
    values: int
    """The same for values."""
    n_vocab: int
    """With padding."""
    width: int
    """Of the embedding."""
    inner: int
    """Width of the feed-forward layers."""
    n_layers: int
    n_parts: int
    """Files the model is split into."""
    vocabulary: Vocabulary | None
    recurrent: bool
    """Whether some layers keep a running state in the place of, or beside, keys and values."""
    window: int
    """Tokens that layers with a sliding window look back; 0 without such layers."""
    n_experts: int
    """Experts that each token chooses from; 0 for a dense model."""
    active_part: float
    """Of all weights in this file, those that one token is computed with."""
    licence: str = ""
    """As whoever made the file wrote it."""
    causal: bool = True
    """Whether tokens look at those before them only: else it is an encoder."""
    twice: str = ""
    """The two tokens that have the same text, the first such pair, in words; empty where there is none."""

    def memory(self, weights_bytes: int) -> ModelSize:
        """What decides the memory it takes; its files have so many bytes."""
        return ModelSize(
            weights_bytes,
            self.keys,
            self.values,
            self.n_vocab,
            self.width,
            self.inner,
            self.n_layers,
            self.n_ctx_train,
        )


class FileVocabulary:
    """A file's tokens, as core.pairing compares them."""

    def __init__(
        self,
        texts: Sequence[bytes],
        types: Sequence[int],
        *,
        kind: str = "",
        bos: int | None = None,
        eos: int | None = None,
        adds_bos: bool | None = None,
    ) -> None:
        self.kind = kind
        self.bos = bos
        self.eos = eos
        self.adds_bos = adds_bos
        self._texts = texts
        self._types = types
        self.n_tokens = self.n_used = len(texts)
        while 1 < self.n_used <= len(types) and types[self.n_used - 1] == _UNUSED:
            self.n_used -= 1

    def text(self, token: int) -> bytes:
        """The entry of a token."""
        return self._texts[token]

    def is_special(self, token: int) -> bool:
        """Whether it stands for no text of its own, as far as the file says."""
        return (self._types[token] if token < len(self._types) else _NORMAL) in _SPECIAL

    @property
    def identity(self) -> Vocabulary:
        """What tells it from others."""
        texts = self._texts[: self.n_used]
        digest = hashlib.sha256(self.kind.encode() + b"\0" + ",".join(str(len(text)) for text in texts).encode())
        digest.update(b"".join(texts))
        return Vocabulary(self.n_used, digest.hexdigest())


def read_header(path: Path) -> GgufHeader:
    """Raises ModelError that says what is wrong with the file, which it calls `it`."""
    metadata = _read(path)
    architecture = metadata.text("general.architecture")
    keys, values = _cached_numbers(metadata, architecture)
    if max(keys, values) > _MOST_NUMBERS:
        raise ModelError("it is damaged: it claims more bytes than there are on any machine", "download it again")
    return GgufHeader(
        architecture=architecture,
        name=metadata.text("general.name"),
        purpose=metadata.text("general.type") or "model",
        quantization=FILE_TYPES.get(metadata.number("general.file_type", -1), ""),
        n_ctx_train=metadata.number(f"{architecture}.context_length"),
        keys=keys,
        values=values,
        n_vocab=len(metadata.tokens),
        width=metadata.number(f"{architecture}.embedding_length"),
        inner=metadata.number(f"{architecture}.feed_forward_length"),
        n_layers=metadata.number(f"{architecture}.block_count"),
        n_parts=metadata.number("split.count", 1) or 1,
        vocabulary=metadata.vocabulary.identity if metadata.tokens else None,
        licence=metadata.text("general.license"),
        recurrent=any(key.startswith(_recurrent_keys(architecture)) for key in metadata.values),
        window=metadata.number(f"{architecture}.attention.sliding_window"),
        n_experts=metadata.number(f"{architecture}.expert_count"),
        active_part=_active_part(metadata, architecture),
        causal=metadata.values.get(f"{architecture}.attention.causal") is not False,
        twice=_twice(metadata.tokens),
    )


def read_tokens(path: Path) -> tuple[FileVocabulary, str | None]:
    """All tokens, and the chat template. Raises ModelError as `read_header` does."""
    metadata = _read(path)
    return metadata.vocabulary, metadata.text("tokenizer.chat_template") or None


@dataclass(slots=True)
class _Metadata:
    """The entries that are of use here."""

    values: dict[str, Value] = field(default_factory=dict)
    tokens: list[bytes] = field(default_factory=list)
    types: list[int] = field(default_factory=list)
    n_weights: int = 0
    n_expert_weights: int = 0

    def text(self, key: str) -> str:
        value = self.values.get(key, "")
        return value if isinstance(value, str) else ""

    def number(self, key: str, otherwise: int = 0) -> int:
        value = self.values.get(key, otherwise)
        return value if isinstance(value, int) else otherwise

    @property
    def vocabulary(self) -> FileVocabulary:
        def known(key: str) -> int | None:
            value = self.values.get(f"tokenizer.ggml.{key}")
            return value if isinstance(value, int) else None

        adds_bos = known("add_bos_token")
        return FileVocabulary(
            self.tokens,
            self.types,
            kind=self.text("tokenizer.ggml.model"),
            bos=known("bos_token_id"),
            eos=known("eos_token_id"),
            adds_bos=None if adds_bos is None else bool(adds_bos),
        )


def _read(path: Path) -> _Metadata:
    # Asked first: opening a pipe would wait for its other end.
    try:
        if not path.is_file():
            raise ModelError("it is no regular file" if path.exists() else "there is no such file")
        with path.open("rb") as file:
            return _entries(GgufValues(file))
    except OSError as error:
        raise ModelError(f"it cannot be read: {error.strerror}") from error


def _entries(values: GgufValues) -> _Metadata:
    metadata = _Metadata()
    n_entries = values.begin()
    if n_entries > _MOST_ENTRIES:
        raise values.damaged(f"it claims to hold {n_entries:,} entries")
    for _ in range(n_entries):
        key, kind = values.text(), values.kind()
        if kind is Kind.STRING:
            metadata.values[key] = values.text()
        elif kind is not Kind.ARRAY:
            metadata.values[key] = values.number(kind)
        else:
            _array(metadata, key, values)
    if values.n_tensors > _MOST_ENTRIES:
        raise values.damaged(f"it claims to hold {values.n_tensors:,} tensors")
    end = 0
    for _ in range(values.n_tensors):
        name, n_weights, n_bytes = values.tensor()
        end = max(end, n_bytes)
        metadata.n_weights += n_weights
        metadata.n_expert_weights += n_weights if "_exps." in name else 0
    values.check_length(end, metadata.number("general.alignment", _ALIGNMENT))
    return metadata


def _array(metadata: _Metadata, key: str, values: GgufValues) -> None:
    kind, n = values.array()
    if kind is Kind.STRING and key == "tokenizer.ggml.tokens":
        metadata.tokens = values.texts(n)
    elif kind is Kind.INT32 and key == "tokenizer.ggml.token_type":
        metadata.types = values.numbers(kind, n)
    elif kind in (Kind.INT32, Kind.UINT32) and key.endswith(".attention.head_count_kv"):
        metadata.values[key] = sum(values.numbers(kind, n))  # one for each layer
        metadata.values[f"{key}.summed"] = True
    elif kind in (Kind.INT32, Kind.UINT32) and key.endswith(".feed_forward_length") and n:
        metadata.values[key] = max(values.numbers(kind, n))  # the same
    else:
        values.skip_items(kind, n)


def _twice(tokens: Sequence[bytes]) -> str:
    if len(set(tokens)) == len(tokens):  # looked for only where there is one
        return ""
    first: dict[bytes, int] = {}
    for token, text in enumerate(tokens):
        if text and first.setdefault(text, token) != token:  # llama.cpp tells empty ones apart
            return f"{first[text]} and {token}, {text.decode('utf-8', errors='replace')!r}"
    return ""


def _recurrent_keys(architecture: str) -> tuple[str, ...]:
    """How the keys begin that only models with a running state have: Mamba and its hybrids, RWKV, LFM2."""
    return tuple(f"{architecture}.{name}" for name in ("ssm.", "wkv.", "shortconv."))


def _active_part(metadata: _Metadata, architecture: str) -> float:
    n_experts, n_used = (metadata.number(f"{architecture}.expert_{name}") for name in ("count", "used_count"))
    if not n_experts or not metadata.n_weights:
        return 1.0
    idle = metadata.n_expert_weights * (1 - min(n_used, n_experts) / n_experts)
    return 1 - idle / metadata.n_weights


def _cached_numbers(metadata: _Metadata, architecture: str) -> tuple[int, int]:
    """Of keys and of values, for one token in all layers."""
    layers = metadata.number(f"{architecture}.block_count")
    attention = f"{architecture}.attention"
    heads = metadata.number(f"{attention}.head_count")
    kv_heads = metadata.number(f"{attention}.head_count_kv", heads)
    if not metadata.number(f"{attention}.head_count_kv.summed"):
        kv_heads *= layers
    width = metadata.number(f"{architecture}.embedding_length") // heads if heads else 0
    keys = metadata.number(f"{attention}.key_length", width)
    values = metadata.number(f"{attention}.value_length", width)
    return kv_heads * keys, kv_heads * values
