"""Answers within a grammar: the core's Constraint over llama.cpp's own grammar engine."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import median_low
from typing import Any, NamedTuple, Self

# Before llama_cpp: it sets what ggml reads when it is loaded.
from specdesk.engine.native_log import native_log

import llama_cpp  # isort: skip
import numpy as np
from numpy.typing import NDArray

from specdesk.core.lm import n_common
from specdesk.engine.grammar.gbnf import fault
from specdesk.engine.grammar.token_text import TokenText, unfinished_after
from specdesk.engine.vocabulary import LlamaVocabulary
from specdesk.errors import UsageError

MOST_KEPT = 80
"""States kept along an answer. Going further back means reading the answer from its beginning."""

MOST_FORCED = 64
"""Bytes looked ahead for text without a choice: drafts are short, and each byte costs a sixth of a millisecond."""

_PROBES = 8
"""Ways to go on that are tried to see where a tokenizer would join forced text to what follows it."""

_MOST_QUOTED = 40

_HINT = "a grammar is GBNF text with a rule named root"

_CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])
"""llama_token_data."""


class _State(NamedTuple):
    """Where a grammar stands behind some answer."""

    sampler: Any
    """Native; None behind an end token, where nothing may follow."""
    unfinished: bytes
    """The first bytes of a character whose others are still to come."""


class Grammar:
    """What may follow an answer, by a grammar in llama.cpp's notation (GBNF).

    `allowed` and `forced` depend on nothing but their arguments; an answer that goes on from the last one asked is
    answered from native states kept along it. Beyond the grammar, an answer is text: whole characters in UTF-8, no
    control tokens, an end token only where the grammar is complete, and nothing behind it.

    Valid as long as the vocabulary's model is open. Not for use from two threads at once; close it, or use it as a
    context manager.
    """

    def __init__(self, vocabulary: LlamaVocabulary, gbnf: str) -> None:
        """Raises UsageError, with llama.cpp's own reason, for a text that is no grammar with a rule `root`."""
        self._vocabulary = vocabulary
        self._tokens = TokenText(vocabulary)
        self._root = _State(_native(vocabulary, gbnf), b"")
        self._answer: list[int] = []
        """The answer last asked about, as far as it was allowed."""
        self._first = 0
        """Tokens of it before those whose states are kept."""
        self._kept: list[_State] = []
        """The states behind each of the others."""
        self._finalizer = weakref.finalize(self, _free_all, self._root, self._kept)

    def allowed(self, answer: Sequence[int], ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of `ids` (n,) may follow `answer`, shape (n,). After an end token none may.

        Raises: ValueError for an answer that is itself not allowed, naming the first token that is not.
        """
        return self._mask(self._state(answer), ids)

    def forced(self, answer: Sequence[int]) -> list[int]:
        """Tokens of the text that must follow `answer`: as long as only one byte may follow, and no end token.

        Without those at its end that the tokenizer would mostly join to what may follow. Empty in the middle of a
        character, and for a vocabulary in which some byte has no token of its own.

        Raises: ValueError as `allowed` does.
        """
        state = self._state(answer)
        if state.sampler is None or state.unfinished:
            return []
        text, follow = self._forced_text(state)
        return self._tokens_of(text, follow, state) if text else []

    def close(self) -> None:
        """Free the native states. May be called twice; asking afterwards raises ValueError."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def _state(self, answer: Sequence[int]) -> _State:
        """Where the grammar stands behind `answer`, from the nearest state that is kept."""
        if not self._finalizer.alive:
            raise ValueError("the grammar is closed")
        ids = list(answer)
        n = n_common(self._answer, ids)
        if n <= self._first:
            n = self._first = 0
        _free_from(self._kept, n - self._first)
        del self._answer[n:]
        for token in ids[n:]:
            self._advance(token)
        return self._kept[-1] if self._kept else self._root

    def _advance(self, token: int) -> None:
        state = self._kept[-1] if self._kept else self._root
        if not self._mask(state, np.array([token]))[0]:
            raise ValueError(f"the grammar forbids token {token} as number {len(self._answer)} of the answer")
        if self._tokens.is_end(token):
            self._kept.append(_State(None, b""))
        else:
            # Kept before it is moved on, so that it is freed whatever happens in between.
            self._kept.append(state._replace(sampler=llama_cpp.llama_sampler_clone(state.sampler)))
            self._kept[-1] = self._moved(self._kept[-1], token)
        self._answer.append(token)
        if len(self._kept) > MOST_KEPT:
            self._first += 1
            _free(self._kept.pop(0))

    def _moved(self, state: _State, token: int) -> _State:
        """Move a state's own sampler over a token. llama.cpp ends the process for one that `_mask` does not allow."""
        llama_cpp.llama_sampler_accept(state.sampler, token)
        return _State(state.sampler, unfinished_after(state.unfinished + self._vocabulary.piece(token)) or b"")

    def _mask(self, state: _State, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of `ids` llama.cpp allows, among those that keep the answer text."""
        if state.sampler is None:
            return np.zeros(len(ids), np.bool_)
        mask = self._tokens.may_follow(state.unfinished, ids)
        asked = np.zeros(np.count_nonzero(mask), _CANDIDATE)
        asked["id"] = ids[mask]
        first = ctypes.cast(asked.ctypes.data, llama_cpp.llama_token_data_p)
        candidates = llama_cpp.llama_token_data_array(first, len(asked), -1, False)
        llama_cpp.llama_sampler_apply(state.sampler, ctypes.byref(candidates))
        mask[mask] = asked["logit"] == 0.0
        return mask

    def _forced_text(self, state: _State) -> tuple[bytes, NDArray[np.uint8]]:
        """The bytes without a choice, and those of which one may come next."""
        values, tokens = self._tokens.single_bytes
        with_end = np.append(tokens, self._tokens.an_end)
        text = bytearray()
        with _scratch(state) as at:
            while True:
                mask = self._mask(at, with_end)
                follow = values[mask[:-1]]
                if mask[-1] or len(follow) != 1 or len(text) == MOST_FORCED:
                    return bytes(text), follow
                text.append(follow[0])
                at = self._moved(at, int(tokens[mask[:-1]][0]))

    def _tokens_of(self, text: bytes, follow: NDArray[np.uint8], state: _State) -> list[int]:
        """Tokens of `text` as the tokenizer writes it before most of the bytes `follow`."""
        whole = text[: len(text) - len(unfinished_after(text) or b"")].decode()
        ids = self._tokenized(whole)
        ascii_only = follow[follow < 0x80]
        probes = ascii_only[:: max(1, len(ascii_only) // _PROBES)]
        kept = [n_common(ids, self._tokenized(whole + chr(byte))) for byte in probes]
        return self._allowed_part(ids[: median_low(kept)] if kept else ids, state)

    def _tokenized(self, text: str) -> list[int]:
        """Tokens whose bytes join to `text`; none if the tokenizer has none for it alone."""
        # A tokenizer that puts a blank before every text puts it before the line break.
        for before, most in (("", 1), ("\n", 4)):
            ids = self._vocabulary.tokenize(before + text)
            pieces = [self._vocabulary.piece(token) for token in ids]
            for i in range(most):
                if b"".join(pieces[i:]) == text.encode():
                    return ids[i:]
        return []

    def _allowed_part(self, ids: Sequence[int], state: _State) -> list[int]:
        """Those of `ids` up to the first that is not allowed behind the ones before it."""
        with _scratch(state) as at:
            for i, token in enumerate(ids):
                if not self._mask(at, np.array([token]))[0]:
                    return list(ids[:i])
                at = self._moved(at, token)
        return list(ids)


@contextmanager
def _scratch(state: _State) -> Iterator[_State]:
    """A copy to move on and throw away."""
    sampler = llama_cpp.llama_sampler_clone(state.sampler)
    try:
        yield state._replace(sampler=sampler)
    finally:
        llama_cpp.llama_sampler_free(sampler)


def _free(state: _State) -> None:
    if state.sampler is not None:
        llama_cpp.llama_sampler_free(state.sampler)


def _free_from(kept: list[_State], n: int) -> None:
    """Free all but the first `n`."""
    while len(kept) > n:
        _free(kept.pop())


def _free_all(root: _State, kept: list[_State]) -> None:
    _free_from(kept, 0)
    _free(root)


def _native(vocabulary: LlamaVocabulary, gbnf: str) -> Any:
    """A sampler at the grammar's beginning."""
    if not gbnf.strip():
        # llama.cpp takes an empty text for no constraint at all.
        raise UsageError("the grammar is empty", _HINT)
    if "\0" in gbnf:
        raise UsageError("the grammar holds a zero byte", _HINT)
    try:
        data = gbnf.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"the grammar is not UTF-8: {error.reason}", _HINT) from None
    if reason := fault(gbnf):
        raise UsageError(f"the grammar cannot be used: {reason}", "let each rule begin with some text before it recurs")
    native_log.clear()
    sampler, said = native_log.past_the_log(
        lambda: llama_cpp.llama_sampler_init_grammar(vocabulary.native, data, b"root")
    )
    if not sampler:
        raise UsageError(f"the grammar cannot be used: {_reason(said, gbnf)}", _HINT)
    return sampler


def _reason(said: str, gbnf: str) -> str:
    """llama.cpp's words, which quote all the rest of the grammar, with the line in place of that."""
    _, is_parsers, words = said.partition("error parsing grammar: ")
    if not is_parsers:
        return native_log.reason() or "llama.cpp gave no reason"
    what, at, rest = words.removesuffix(f"\n\n{gbnf}\n").partition(" at ")
    if not at or not gbnf.endswith(rest):
        return what
    line = gbnf[: len(gbnf) - len(rest)].count("\n") + 1
    return f"line {line}: {what} at {rest.partition(chr(10))[0][:_MOST_QUOTED]!r}"
