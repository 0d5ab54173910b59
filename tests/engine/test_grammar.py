"""Masks, forced text, refusals and memory of grammars, on llama.cpp's own engine."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import llama_cpp
import numpy as np
import pytest
from gguf import TokenType
from numpy.typing import NDArray

from specdesk.engine.grammar import native as module
from specdesk.engine.grammar.json_rules import RULES
from specdesk.engine.grammar.native import MOST_FORCED, MOST_KEPT, Grammar
from specdesk.engine.vocabulary import LlamaVocabulary
from specdesk.errors import UsageError
from tests.engine.conftest import OpenLM, WriteModel
from tests.engine.grammars import END, OpenGrammar, accepts, byte_ids, may_follow
from tests.tiny.gguf_models import BYTES, CHAT, RWKV, SPACE, TARGET, TinyVocabulary

WORDS = CHAT.with_tokens(
    ["true", "tru", '{"', '":', f'{SPACE}"', '", "', "é", "x]}", "12", "ab", "abc"], TokenType.NORMAL
).padded(5)
"""Bytes, chat markers, tokens of several characters, padding."""
IM_START, IM_END = len(BYTES.tokens), len(BYTES.tokens) + 1
N_USED = len(WORDS.tokens) - 5

JSON = "root ::= value\n" + "\n".join(f"{name} ::= {body}" for name, body in RULES.items())
GRAMMARS = {
    "json": JSON,
    "words": 'root ::= ("ab" | "abc" | "é" [0-9]+)*',
    "any text": "root ::= .*",
    "nested": 'root ::= "(" root? ")" | "12" | [α-ω]',
}


@pytest.fixture
def vocabulary(write_model: WriteModel, open_lm: OpenLM) -> LlamaVocabulary:
    return open_lm(write_model(replace(TARGET, vocabulary=WORDS))).vocabulary


@pytest.fixture
def open_grammar(vocabulary: LlamaVocabulary) -> Iterator[OpenGrammar]:
    with ExitStack() as grammars:

        def opened(gbnf: str, other: LlamaVocabulary = vocabulary) -> Grammar:
            return grammars.enter_context(Grammar(other, gbnf))

        yield opened


class Reference:
    """The slow and simple way: a native state made anew for each question, and the text decoded from its beginning."""

    def __init__(self, vocabulary: LlamaVocabulary, gbnf: str) -> None:
        self.vocabulary = vocabulary
        self.gbnf = gbnf

    def mask(self, answer: list[int]) -> NDArray[np.bool_]:
        n = self.vocabulary.n_tokens
        if answer and answer[-1] in (END, IM_END):
            return np.zeros(n, np.bool_)
        data = (llama_cpp.llama_token_data * n)(*((token, 0.0, 0.0) for token in range(n)))
        sampler = llama_cpp.llama_sampler_init_grammar(self.vocabulary.native, self.gbnf.encode(), b"root")
        for token in answer:
            llama_cpp.llama_sampler_accept(sampler, token)
        llama_cpp.llama_sampler_apply(sampler, ctypes.byref(llama_cpp.llama_token_data_array(data, n, -1, False)))
        llama_cpp.llama_sampler_free(sampler)
        return np.array([data[token].logit == 0.0 and self._is_text(answer, token) for token in range(n)])

    def _is_text(self, answer: list[int], token: int) -> bool:
        text = b"".join(self.vocabulary.piece(one) for one in [*answer, token])
        if token in (END, IM_END):
            return text.decode("utf-8", errors="ignore").encode() == text
        if token in (0, 1, IM_START) or token >= N_USED or b"\0" in self.vocabulary.piece(token):
            return False
        return any((text + more).decode("utf-8", errors="ignore").encode() == text + more for more in _ENDINGS)


_ENDINGS = [b"", *(bytes([byte]) + b"\x80" * n for byte in (0x80, 0x90, 0xA0) for n in range(3))]
"""Bytes one of which completes any beginning of a character."""


def walk(grammar: Grammar, reference: Reference, seed: int, n_steps: int = 60) -> None:
    """Ask along a random answer that is cut back and changed now and then."""
    rng = np.random.default_rng(seed)
    ids = np.arange(reference.vocabulary.n_tokens)
    answer: list[int] = []
    for _ in range(n_steps):
        mask = grammar.allowed(answer, ids)
        assert mask.tolist() == reference.mask(answer).tolist()
        some = rng.integers(0, len(ids), 20)
        assert grammar.allowed(answer, some).tolist() == mask[some].tolist()
        if not mask.any() or rng.random() < 0.3:
            # Cut back and changed without a question in between.
            del answer[int(rng.integers(0, len(answer) + 1)) :]
            mask = reference.mask(answer)
        if mask.any():
            weights = mask * np.where(ids < len(BYTES.tokens), 1.0, 10.0)
            answer.append(int(rng.choice(ids, p=weights / weights.sum())))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", GRAMMARS)
def test_masks_are_those_of_a_state_made_anew(
    vocabulary: LlamaVocabulary, open_grammar: OpenGrammar, name: str, seed: int
) -> None:
    walk(open_grammar(GRAMMARS[name]), Reference(vocabulary, GRAMMARS[name]), seed)


def test_a_state_that_is_not_rolled_back_is_noticed(
    vocabulary: LlamaVocabulary, open_grammar: OpenGrammar, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test above is worth something: it fails for a class that takes any other answer for the last one."""
    monkeypatch.setattr(module, "n_common", lambda one, other: min(len(one), len(other)))
    with pytest.raises((AssertionError, ValueError)):
        walk(open_grammar(JSON), Reference(vocabulary, JSON), 0)


@pytest.mark.parametrize("seed", range(3))
def test_masks_do_not_depend_on_how_much_is_kept(
    vocabulary: LlamaVocabulary, open_grammar: OpenGrammar, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(module, "MOST_KEPT", 2)
    walk(open_grammar(JSON), Reference(vocabulary, JSON), seed)


def test_ids_that_are_no_tokens_are_not_allowed(vocabulary: LlamaVocabulary, open_grammar: OpenGrammar) -> None:
    ids = np.array([-1, -(2**40), N_USED, vocabulary.n_tokens - 1, vocabulary.n_tokens, 2**40, *byte_ids("a")])
    assert open_grammar("root ::= .*").allowed([], ids).tolist() == [False] * 6 + [True]
    assert open_grammar("root ::= .*").allowed([], ids[:0]).tolist() == []


def test_control_tokens_are_no_text(open_grammar: OpenGrammar) -> None:
    """llama.cpp reads them as if their names were written, and the answer would have nothing there."""
    grammar = open_grammar("root ::= .*")
    assert not any(may_follow(grammar, [], token) for token in (0, 1, IM_START))
    assert accepts(grammar, "<|im_start|>")


def test_an_end_only_where_the_grammar_is_complete(open_grammar: OpenGrammar) -> None:
    grammar = open_grammar('root ::= "ab" "c"?')
    for text, may_end in (("", False), ("a", False), ("ab", True), ("abc", True)):
        assert [may_follow(grammar, byte_ids(text), end) for end in (END, IM_END)] == [may_end] * 2


def test_nothing_follows_an_end(open_grammar: OpenGrammar) -> None:
    grammar = open_grammar('root ::= "a"*')
    answer = [*byte_ids("aa"), IM_END]
    assert not grammar.allowed(answer, np.arange(N_USED)).any()
    assert grammar.forced(answer) == []
    assert may_follow(grammar, answer[:-1], END)
    with pytest.raises(ValueError, match="number 3 of the answer"):
        grammar.forced([*answer, END])


@pytest.mark.parametrize(
    ("before", "byte", "allowed"),
    [
        (b"", b"\xc3", True),
        (b"\xc3", b"\xa9", True),
        (b"\xc3", b"a", False),
        (b"\xf0\x9f\x9a", b"\x80", True),
        (b"\xf0\x9f\x9a", b"\xf0", False),
        (b"", b"\x80", False),
        (b"", b"\xc1", False),
        (b"\xe0", b"\x82", False),
        (b"\xed", b"\x9f", True),
        (b"\xed", b"\xa0", False),
        (b"\xf0", b"\x80", False),
        (b"\xf4", b"\x90", False),
        (b"", b"\xf8", False),
    ],
)
def test_an_answer_is_utf8(open_grammar: OpenGrammar, before: bytes, byte: bytes, allowed: bool) -> None:
    """llama.cpp alone lets overlong forms and halves of surrogate pairs pass, byte by byte."""
    assert may_follow(open_grammar("root ::= .*"), byte_ids(before), byte_ids(byte)[0]) is allowed


def test_no_end_inside_a_character(open_grammar: OpenGrammar) -> None:
    grammar = open_grammar("root ::= .*")
    bytes_of = byte_ids("深")
    assert [may_follow(grammar, bytes_of[:n], END) for n in range(4)] == [True, False, False, True]
    assert not may_follow(grammar, bytes_of[:1], WORDS.tokens.index(("é", TokenType.NORMAL)))


@pytest.mark.parametrize(
    ("answer", "token", "number"),
    [
        (byte_ids("b"), byte_ids("b")[0], 0),
        (byte_ids("abx"), byte_ids("x")[0], 2),
        ([END], END, 0),
        ([*byte_ids("a"), END, *byte_ids("b")], END, 1),
        ([IM_START], IM_START, 0),
        ([N_USED], N_USED, 0),
        ([10**6], 10**6, 0),
        ([-1], -1, 0),
    ],
)
def test_an_answer_that_is_not_allowed(open_grammar: OpenGrammar, answer: list[int], token: int, number: int) -> None:
    """llama.cpp ends the process for most of these."""
    grammar = open_grammar('root ::= "ab"')
    with pytest.raises(ValueError, match=f"forbids token {token} as number {number} of"):
        grammar.allowed(answer, np.array([0]))
    with pytest.raises(ValueError, match=f"forbids token {token}"):
        grammar.forced(answer)
    assert accepts(grammar, "ab")


@pytest.mark.parametrize(
    ("gbnf", "answer", "text"),
    [
        ('root ::= "ab" [0-9]', "", "ab"),
        ('root ::= "ab" [0-9]', "a", "b"),
        ('root ::= "ab" [0-9]', "ab", ""),
        ('root ::= "xy" "cd"?', "", "xy"),
        ('root ::= "x" ("one" | "only")', "x", "on"),
        ('root ::= "深い" .', "", "深い"),
        ('root ::= "é" | "è"', "", ""),
        ('root ::= "<|im_start|>" "x"', "", ""),
        (f'root ::= "{"y" * 300}"', "", "y" * MOST_FORCED),
        ('root ::= ""', "", ""),
    ],
)
def test_forced_text(vocabulary: LlamaVocabulary, open_grammar: OpenGrammar, gbnf: str, answer: str, text: str) -> None:
    """Up to the first choice, an end being one; none of a character's first bytes, and none read as a control token."""
    forced = open_grammar(gbnf).forced(byte_ids(answer))
    assert b"".join(vocabulary.piece(token) for token in forced).decode() == text


def test_forced_text_is_tokenized_as_the_tokenizer_would(
    vocabulary: LlamaVocabulary, open_grammar: OpenGrammar
) -> None:
    gbnf = 'root ::= "{ab" [c-z]'
    assert open_grammar(gbnf).forced([]) == vocabulary.tokenize("{ab")


def test_no_forced_token_that_what_follows_would_be_joined_to(
    vocabulary: LlamaVocabulary, open_grammar: OpenGrammar
) -> None:
    """ "abc" is one token: with a c behind it mostly, "ab" is none to propose."""
    assert vocabulary.tokenize("{abc") == [*byte_ids("{"), WORDS.tokens.index(("abc", TokenType.NORMAL))]
    assert open_grammar('root ::= "{ab" ("c" | "é")').forced([]) == byte_ids("{")


def test_forced_text_without_the_space_a_tokenizer_puts_first(
    write_model: WriteModel, open_lm: OpenLM, open_grammar: OpenGrammar
) -> None:
    spaced = open_lm(write_model(replace(TARGET, vocabulary=WORDS, space_prefix=True))).vocabulary
    assert spaced.tokenize("name") == [len(BYTES.tokens) - 1, *byte_ids("name")]
    assert open_grammar('root ::= "name"', spaced).forced([]) == byte_ids("name")


def test_no_forced_text_without_a_token_for_each_byte(
    write_model: WriteModel, open_lm: OpenLM, open_grammar: OpenGrammar
) -> None:
    tokens = tuple(token for token in BYTES.tokens if token[0] != "<0xE9>")
    lacking = open_lm(write_model(replace(TARGET, vocabulary=TinyVocabulary(tokens)))).vocabulary
    assert open_grammar('root ::= "name"', lacking).forced([]) == []


def test_nothing_is_forced_inside_a_character(open_grammar: OpenGrammar) -> None:
    """A draft begins with whole tokens of text, and half a character is none."""
    grammar = open_grammar('root ::= "é!"')
    assert grammar.forced(byte_ids("é".encode()[:1])) == []
    assert grammar.forced(byte_ids("é")) == byte_ids("!")


def test_a_vocabulary_without_an_end(write_model: WriteModel, open_lm: OpenLM, open_grammar: OpenGrammar) -> None:
    endless = open_lm(write_model(replace(TARGET, vocabulary=RWKV))).vocabulary
    grammar = open_grammar('root ::= "ab"', endless)
    assert grammar.forced([]) == [ord("a"), ord("b")]
    assert not grammar.allowed([ord("a"), ord("b")], np.arange(endless.n_tokens)).any()


@pytest.mark.parametrize(
    ("gbnf", "reason"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        ("# only a remark", "cannot be used"),
        ('root ::= "a\0b"', "zero byte"),
        ('root ::= "a\udce9"', "not UTF-8"),
        ('a ::= "b"', "'root'"),
        ('root ::= "a"\n\nb = "c"\n', "line 3: expecting ::= at '= \"c\"'"),
        ("root ::= other", "other"),
        ('root ::= "a', "unexpected end of input"),
        (r'root ::= "\q"', r"line 1: unknown escape at '\\\\q\"'"),
        ('root ::= root "a" | "b"', "left recursion"),
        ('root ::= "a"{3000}', "repetitions"),
        ("root ::= [0-9]{99999999999999999999999}", "line|stoul|repetitions"),
    ],
)
def test_a_text_that_is_no_grammar(
    vocabulary: LlamaVocabulary, capfd: pytest.CaptureFixture[str], gbnf: str, reason: str
) -> None:
    with pytest.raises(UsageError, match=reason) as caught:
        Grammar(vocabulary, gbnf)
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)
    assert "error parsing" not in capfd.readouterr().err


class Samplers:
    """How many native samplers were made, and how many of them are left."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.n_made = self.n_left = 0
        for name, change in (("init_grammar", 1), ("clone", 1), ("free", -1)):
            self._count(monkeypatch, f"llama_sampler_{name}", change)

    def _count(self, monkeypatch: pytest.MonkeyPatch, name: str, change: int) -> None:
        function = getattr(llama_cpp, name)

        def counted(*arguments: object) -> object:
            result = function(*arguments)
            if change < 0 or result:
                self.n_left += change
                self.n_made += max(change, 0)
            return result

        monkeypatch.setattr(llama_cpp, name, counted)


@pytest.fixture
def samplers(monkeypatch: pytest.MonkeyPatch) -> Samplers:
    return Samplers(monkeypatch)


def test_every_state_is_freed(vocabulary: LlamaVocabulary, samplers: Samplers) -> None:
    with Grammar(vocabulary, 'root ::= "a"* "bbb"?') as grammar:
        grammar.forced(byte_ids("aaaab"))
        grammar.allowed([*byte_ids("aa"), END], np.arange(9))
        with pytest.raises(ValueError):
            grammar.allowed(byte_ids("ax"), np.arange(9))
        with pytest.raises(UsageError):
            Grammar(vocabulary, "root")
    assert samplers.n_left == 0
    grammar.close()
    assert samplers.n_left == 0
    with pytest.raises(ValueError, match="closed"):
        grammar.allowed([], np.arange(9))


def test_a_grammar_that_is_dropped_is_freed(vocabulary: LlamaVocabulary, samplers: Samplers) -> None:
    grammar = Grammar(vocabulary, 'root ::= "a"*')
    grammar.allowed(byte_ids("aaa"), np.arange(9))
    assert samplers.n_left == 4
    del grammar
    gc.collect()
    assert samplers.n_left == 0


def test_a_state_is_freed_when_llama_cpp_fails(
    vocabulary: LlamaVocabulary, samplers: Samplers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_arguments: object) -> None:
        raise KeyboardInterrupt

    with Grammar(vocabulary, 'root ::= "ab" [cd]') as grammar:
        for ask in (grammar.forced, lambda answer: grammar.allowed(answer, np.arange(9))):
            with monkeypatch.context() as broken:
                broken.setattr(llama_cpp, "llama_sampler_accept", interrupted)
                with pytest.raises(KeyboardInterrupt):
                    ask(byte_ids("a"))
        assert accepts(grammar, "abc")
    assert samplers.n_left == 0


def test_a_growing_answer_costs_a_state_a_token_and_keeps_few(vocabulary: LlamaVocabulary, samplers: Samplers) -> None:
    with Grammar(vocabulary, 'root ::= "a"*') as grammar:
        answer = byte_ids("a" * 500)
        for n in range(500):
            grammar.allowed(answer[:n], np.arange(9))
        assert samplers.n_made == 500
        assert samplers.n_left == MOST_KEPT + 1
        grammar.allowed(answer[: 500 - MOST_KEPT], np.arange(9))
        assert samplers.n_made == 500
        assert may_follow(grammar, answer[:10], END)
        assert samplers.n_made == 510
