"""Texts and random answers tried against a grammar, one token at a time."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from specdesk.engine.grammar.native import Grammar
from specdesk.engine.vocabulary import LlamaVocabulary

END = 2
"""Id of </s> in the tiny vocabularies."""
FIRST_BYTE = 3
"""Id of the token <0x00>."""


class OpenGrammar(Protocol):
    """Makes a grammar that is closed when the test ends."""

    def __call__(self, gbnf: str, other: LlamaVocabulary = ..., /) -> Grammar: ...


def byte_ids(text: str | bytes) -> list[int]:
    """The text in tokens of a byte each."""
    return [FIRST_BYTE + byte for byte in (text.encode() if isinstance(text, str) else text)]


def may_follow(grammar: Grammar, answer: list[int], token: int) -> bool:
    return bool(grammar.allowed(answer, np.array([token]))[0])


def accepts(grammar: Grammar, text: str | bytes) -> bool:
    """Whether the text is a whole answer, read byte by byte."""
    ids = [*byte_ids(text), END]
    return all(may_follow(grammar, ids[:i], token) for i, token in enumerate(ids))


def random_answer(grammar: Grammar, vocabulary: LlamaVocabulary, rng: np.random.Generator) -> bytes:
    """An answer drawn from what is allowed, with a liking for what ends strings, arrays, objects and the answer."""
    ids = np.arange(vocabulary.n_tokens)
    weights = np.array([30.0 if vocabulary.piece(int(t))[-1:] in (b'"', b"]", b"}") else 1.0 for t in ids])
    weights[END] = 30.0
    answer: list[int] = []
    for _ in range(5000):
        mask = grammar.allowed(answer, ids)
        assert mask.any(), "nothing may follow"
        token = int(rng.choice(ids, p=weights * mask / (weights * mask).sum()))
        if token == END:
            return b"".join(vocabulary.piece(token) for token in answer)
        answer.append(token)
    raise AssertionError("no end in sight")
