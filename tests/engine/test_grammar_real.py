"""A grammar on a vocabulary of 150,000 tokens, without its model's weights."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import llama_cpp
import numpy as np
import pytest

from specdesk.engine.grammar.json_schema import gbnf_of_schema
from specdesk.engine.grammar.native import Grammar
from specdesk.engine.vocabulary import LlamaVocabulary

pytestmark = pytest.mark.models

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "colour": {"enum": ["red", "green"]},
        "address": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
    "required": ["name", "age", "colour", "address"],
}
ANSWER = '{"name": "Ada", "age": 36, "colour": "red", "address": {"city": "London"}}'


@pytest.fixture(scope="module")
def vocabulary(real_pair: tuple[Path, Path]) -> Iterator[LlamaVocabulary]:
    params = llama_cpp.llama_model_default_params()
    params.vocab_only = True
    model = llama_cpp.llama_model_load_from_file(os.fsencode(real_pair[1]), params)
    yield LlamaVocabulary(model, "gpt2")
    llama_cpp.llama_model_free(model)


@pytest.fixture
def grammar(vocabulary: LlamaVocabulary) -> Iterator[Grammar]:
    with Grammar(vocabulary, gbnf_of_schema(json.dumps(SCHEMA))) as opened:
        yield opened


def test_forced_tokens_are_those_of_the_whole_text(vocabulary: LlamaVocabulary, grammar: Grammar) -> None:
    """The draft they make is what a model that writes this answer would have written, wherever it begins."""
    ids = vocabulary.tokenize(ANSWER)
    n_forced = 0
    for n in range(len(ids)):
        forced = grammar.forced(ids[:n])
        assert forced == ids[n : n + len(forced)]
        n_forced += bool(forced)
    assert n_forced > len(ids) / 2
    assert b"".join(map(vocabulary.piece, grammar.forced([]))) == b'{"name": "'


def test_masks_of_candidates_are_those_of_all(vocabulary: LlamaVocabulary, grammar: Grammar) -> None:
    ids = vocabulary.tokenize(ANSWER)
    everything = np.arange(vocabulary.n_tokens)
    rng = np.random.default_rng(0)
    for n in (0, 4, 5, len(ids)):
        mask = grammar.allowed(ids[:n], everything)
        some = rng.integers(0, vocabulary.n_tokens, 500)
        assert grammar.allowed(ids[:n], some).tolist() == mask[some].tolist()
        assert not mask[vocabulary.n_used :].any()
    assert [token for token in np.flatnonzero(mask) if not vocabulary.is_eog(int(token))] == []
    assert mask[vocabulary.eos]


def test_a_text_in_any_language_is_allowed_in_its_own_tokens(vocabulary: LlamaVocabulary, grammar: Grammar) -> None:
    """Characters that the tokenizer splits between tokens too."""
    ids = vocabulary.tokenize(ANSWER.replace("Ada", "Ǽ 𝔞 ጀ 👩‍🚀 深層"))
    pieces = [vocabulary.piece(token) for token in ids]
    assert any(piece.decode("utf-8", errors="ignore").encode() != piece for piece in pieces)
    assert grammar.allowed(ids, np.array([vocabulary.eos])).all()
