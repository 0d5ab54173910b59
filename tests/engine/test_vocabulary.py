"""Text to tokens, tokens to bytes, and what is special, on real vocabularies."""

from __future__ import annotations

import codecs
from dataclasses import replace

import pytest
from gguf import TokenType

from specdesk.engine.vocabulary import LlamaVocabulary
from tests.engine.conftest import OpenLM, WriteModel
from tests.tiny.gguf_models import BYTES, CHAT, RWKV, SPACE, TARGET, TinyPair, TinyVocabulary

FIRST_BYTE = 3
"""Id of the token <0x00>."""

TEXTS = {
    "empty": "",
    "words": "a function  that parses\n\tCSV ",
    "accents": "naïve café, ångström",
    "other scripts": "深層学習 ελληνικά עברית",
    "emoji": "👩‍🚀 and 🇳🇴 and 👍🏽",
    "long": "x" * 5000,
    "zero byte": "a\0b",
}


@pytest.fixture
def vocabulary(tiny_pair: TinyPair, open_lm: OpenLM) -> LlamaVocabulary:
    return open_lm(tiny_pair.target).vocabulary


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_the_pieces_of_a_text_are_its_bytes(vocabulary: LlamaVocabulary, text: str) -> None:
    ids = vocabulary.tokenize(text)
    assert b"".join(vocabulary.piece(token) for token in ids) == text.encode()


def test_half_a_character_is_its_own_bytes(vocabulary: LlamaVocabulary) -> None:
    """Nothing is replaced before the bytes are joined: the decoder of the answer does that once, at the end."""
    ids = vocabulary.tokenize("🚀")
    pieces = [vocabulary.piece(token) for token in ids]
    assert pieces == [b"\xf0", b"\x9f", b"\x9a", b"\x80"]
    decoder = codecs.getincrementaldecoder("utf-8")()
    assert [decoder.decode(piece) for piece in pieces] == ["", "", "", "🚀"]


def test_every_byte_has_a_piece(vocabulary: LlamaVocabulary) -> None:
    assert [vocabulary.piece(FIRST_BYTE + byte) for byte in range(256)] == [bytes([byte]) for byte in range(256)]


def test_a_lone_surrogate_does_not_break_tokenizing(vocabulary: LlamaVocabulary) -> None:
    """Arguments of a shell that are not UTF-8 arrive as such."""
    ids = vocabulary.tokenize("a\udce9b")
    assert b"".join(vocabulary.piece(token) for token in ids) == b"a?b"


def test_special_tokens_have_a_text_and_no_piece(write_model: WriteModel, open_lm: OpenLM) -> None:
    vocabulary = open_lm(write_model(replace(TARGET, vocabulary=CHAT))).vocabulary
    start, end = len(BYTES.tokens), len(BYTES.tokens) + 1
    for token, text in ((1, b"<s>"), (2, b"</s>"), (start, b"<|im_start|>"), (end, b"<|im_end|>")):
        assert vocabulary.text(token) == text
        assert vocabulary.piece(token) == b""
    assert [token for token in range(end + 1) if vocabulary.is_eog(token)] == [2, end]
    assert (vocabulary.bos, vocabulary.eos) == (1, 2)


def test_special_tokens_written_out_are_read_as_such(write_model: WriteModel, open_lm: OpenLM) -> None:
    vocabulary = open_lm(write_model(replace(TARGET, vocabulary=CHAT))).vocabulary
    start, end = len(BYTES.tokens), len(BYTES.tokens) + 1
    special = vocabulary.tokenize("<|im_start|>hi<|im_end|>")
    assert (special[0], special[-1], len(special)) == (start, end, 4)


def test_nothing_is_put_around_a_text(vocabulary: LlamaVocabulary) -> None:
    assert vocabulary.adds_bos
    assert vocabulary.bos not in vocabulary.tokenize("hi")


@pytest.mark.parametrize(("add_bos", "adds"), [(None, True), (True, True), (False, False)])
def test_whether_a_bos_is_wanted(write_model: WriteModel, open_lm: OpenLM, add_bos: bool | None, adds: bool) -> None:
    assert open_lm(write_model(replace(TARGET, add_bos=add_bos))).vocabulary.adds_bos is adds


def test_a_vocabulary_without_bos_and_eos(write_model: WriteModel, open_lm: OpenLM) -> None:
    vocabulary = open_lm(write_model(replace(TARGET, vocabulary=RWKV))).vocabulary
    assert vocabulary.bos < 0
    assert vocabulary.eos < 0
    assert vocabulary.text(vocabulary.bos) == b""


@pytest.mark.parametrize("length", [255, 256, 257, 1000])
def test_a_piece_of_any_length(write_model: WriteModel, open_lm: OpenLM, length: int) -> None:
    longer = BYTES.with_tokens([SPACE + "=" * (length - 1)], TokenType.NORMAL)
    vocabulary = open_lm(write_model(replace(TARGET, vocabulary=longer))).vocabulary
    piece = vocabulary.piece(len(BYTES.tokens))
    assert piece == b" " + b"=" * (length - 1)
    assert vocabulary.piece(len(BYTES.tokens)) is piece


@pytest.mark.parametrize(
    ("vocabulary", "n_used"),
    [
        (BYTES, 260),
        (BYTES.padded(1), 260),
        (BYTES.padded(64), 260),
        (BYTES.padded(2).with_tokens(["word"], TokenType.NORMAL), 263),
        (BYTES.padded(2).with_tokens(["word"], TokenType.NORMAL).padded(3), 263),
    ],
    ids=["none", "one", "many", "not at the end", "both"],
)
def test_only_unused_tokens_at_the_end_are_padding(
    write_model: WriteModel, open_lm: OpenLM, vocabulary: TinyVocabulary, n_used: int
) -> None:
    loaded = open_lm(write_model(replace(TARGET, vocabulary=vocabulary))).vocabulary
    assert loaded.n_used == n_used
    assert loaded.n_tokens == len(vocabulary.tokens)
