"""Whether a model file is one that a chat could be had with: by its header, before anything is loaded."""

from __future__ import annotations

from typing import Final

from specdesk.hub.gguf.header import GgufHeader

_ENCODER: Final = "it is an encoder, which writes no text"
_DIFFUSION: Final = "it writes a whole text at once (diffusion), and not token by token"
_NOT_FOR_TEXT: Final = {
    "clip": "it is the eyes of another model (a projector), no language model",
    "bert": _ENCODER,
    "eurobert": _ENCODER,
    "gemma-embedding": _ENCODER,
    "jina-bert-v2": _ENCODER,
    "jina-bert-v3": _ENCODER,
    "llama-embed": _ENCODER,
    "modern-bert": _ENCODER,
    "neo-bert": _ENCODER,
    "nomic-bert": _ENCODER,
    "nomic-bert-moe": _ENCODER,
    "t5": "it reads with an encoder, which specdesk does not run",
    "t5encoder": _ENCODER,
    "wavtokenizer-dec": "it makes sound",
    "dream": _DIFFUSION,
    "llada": _DIFFUSION,
    "llada-moe": _DIFFUSION,
    "rnd1": _DIFFUSION,
}
"""Architectures that cannot chat. The engine asks llama.cpp when it loads one."""


def why_unfit(header: GgufHeader) -> str:
    """Why a model cannot be loaded, by its header; empty where nothing speaks against it."""
    if header.purpose != "model":
        return f"it is no language model but what goes with one ({header.purpose})"
    if header.architecture in _NOT_FOR_TEXT:
        return _NOT_FOR_TEXT[header.architecture]
    if header.vocabulary is None:
        return "it has no vocabulary"
    if not header.causal:
        return _ENCODER
    if header.twice:
        return f"two of its tokens have the same text, {header.twice}: llama.cpp cannot load it"
    return ""
