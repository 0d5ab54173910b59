"""A GGUF's vocabulary: text to tokens, tokens to bytes, and which tokens are special."""

from __future__ import annotations

import ctypes
from functools import cached_property
from typing import Any, Final

# Before llama_cpp: it sets what ggml reads when it is loaded.
import specdesk.engine.native_log  # noqa: F401 # isort: skip

import llama_cpp

_PIECE_BYTES = 256
"""Longer pieces exist but are rare; they are asked for again with the size llama.cpp names."""
_SPECIAL: Final = (
    llama_cpp.LLAMA_TOKEN_ATTR_CONTROL
    | llama_cpp.LLAMA_TOKEN_ATTR_USER_DEFINED
    | llama_cpp.LLAMA_TOKEN_ATTR_UNKNOWN
    | llama_cpp.LLAMA_TOKEN_ATTR_UNUSED
)


def has_vocabulary(model: Any) -> bool:
    """Whether there is one at all. llama.cpp ends the process when asked about the tokens of one that is not there."""
    vocab = llama_cpp.llama_model_get_vocab(model)
    return bool(llama_cpp.llama_vocab_type(vocab) != llama_cpp.LLAMA_VOCAB_TYPE_NONE)


class LlamaVocabulary:
    """The core's Vocabulary over llama.cpp's. Valid as long as its model is open."""

    def __init__(self, model: Any, kind: str) -> None:
        """`kind` is the tokenizer's name in the file."""
        self.native = llama_cpp.llama_model_get_vocab(model)
        """llama.cpp's own, for the rest of the engine."""
        self.n_tokens: int = llama_cpp.llama_vocab_n_tokens(self.native)
        self.kind = kind
        self.bos = llama_cpp.llama_vocab_bos(self.native)
        self.eos = llama_cpp.llama_vocab_eos(self.native)
        self.adds_bos = bool(llama_cpp.llama_vocab_get_add_bos(self.native))
        self.n_used = self._without_padding()
        """Tokens up to the last one that means something; ids from here on only fill the table up to a round size."""
        self._pieces: dict[int, bytes] = {}

    def tokenize(self, text: str) -> list[int]:
        """Token ids of `text`, special tokens written out in it read as such, nothing put around it."""
        data = text.encode("utf-8", errors="replace")
        room = len(data) + 8
        while True:
            buffer = (llama_cpp.llama_token * room)()
            n = llama_cpp.llama_tokenize(self.native, data, len(data), buffer, room, False, True)
            if n >= 0:
                return list(buffer[:n])
            room = -n

    def text(self, token: int) -> bytes:
        """The vocabulary's own entry for the token, special ones included; empty for none."""
        if token < 0:
            return b""
        text: bytes | None = llama_cpp.llama_vocab_get_text(self.native, token)
        return text or b""

    @cached_property
    def longest(self) -> int:
        """Bytes of the longest entry. Looks at all of them."""
        return max(len(self.text(token)) for token in range(self.n_tokens))

    def piece(self, token: int) -> bytes:
        """The bytes the token adds to an answer; empty for control tokens."""
        known = self._pieces.get(token)
        if known is None:
            known = self._pieces[token] = self._piece(token, _PIECE_BYTES)
        return known

    def is_eog(self, token: int) -> bool:
        """Whether the token ends the answer."""
        return bool(llama_cpp.llama_vocab_is_eog(self.native, token))

    def is_special(self, token: int) -> bool:
        """Whether it stands for no text of its own."""
        return bool(llama_cpp.llama_vocab_get_attr(self.native, token) & _SPECIAL)

    def _without_padding(self) -> int:
        n = self.n_tokens
        while n > 1 and llama_cpp.llama_vocab_get_attr(self.native, n - 1) & llama_cpp.LLAMA_TOKEN_ATTR_UNUSED:
            n -= 1
        return n

    def _piece(self, token: int, size: int) -> bytes:
        buffer = (ctypes.c_char * size)()
        n = llama_cpp.llama_token_to_piece(self.native, token, buffer, size, 0, False)
        return self._piece(token, -n) if n < 0 else buffer.raw[:n]
