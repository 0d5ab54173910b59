"""What each token adds to an answer that has to be text: whole characters, a part of one, an end, or nothing."""

from __future__ import annotations

import codecs
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from specdesk.engine.vocabulary import LlamaVocabulary

_UNKNOWN, _WHOLE, _FRAGMENT, _END, _SILENT = range(5)

_NEVER_IN_UTF8 = frozenset({0x00, 0xC0, 0xC1, *range(0xF5, 0x100)})
"""Bytes that no text has; zero because llama.cpp's grammars end there."""


class TokenText:
    """A vocabulary's tokens as parts of a text in UTF-8. Looks at a token when it is first asked about."""

    def __init__(self, vocabulary: LlamaVocabulary) -> None:
        self._vocabulary = vocabulary
        self._kinds = np.zeros(vocabulary.n_used, np.int8)

    def may_follow(self, unfinished: bytes, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of `ids` (n,) keep the text UTF-8 behind the first bytes of a character, shape (n,).

        Control tokens do not, nor padding, nor ids outside the vocabulary; end tokens do between characters.
        """
        inside = (ids >= 0) & (ids < len(self._kinds))
        kinds = np.full(len(ids), _SILENT, np.int8)
        kinds[inside] = self._kinds_of(ids[inside])
        fits: NDArray[np.bool_] = np.zeros(len(ids), np.bool_) if unfinished else (kinds == _WHOLE) | (kinds == _END)
        for i in np.flatnonzero(kinds == _FRAGMENT):
            fits[i] = unfinished_after(unfinished + self._vocabulary.piece(int(ids[i]))) is not None
        return fits

    def is_end(self, token: int) -> bool:
        """Whether the token ends an answer."""
        return 0 <= token < len(self._kinds) and bool(self._kinds_of(np.array([token]))[0] == _END)

    @cached_property
    def single_bytes(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Every byte that UTF-8 uses and a token of just that byte, shapes (n,); n is 0 if some byte has none."""
        found: dict[int, int] = {}
        # They come first in every vocabulary seen; one that has them all is not searched to its end.
        for token in range(self._vocabulary.n_used):
            piece = self._vocabulary.piece(token)
            if len(piece) == 1 and piece[0] not in _NEVER_IN_UTF8:
                found.setdefault(piece[0], token)
                if len(found) == 256 - len(_NEVER_IN_UTF8):
                    return np.array(list(found), np.uint8), np.array(list(found.values()), np.int64)
        return np.empty(0, np.uint8), np.empty(0, np.int64)

    @cached_property
    def an_end(self) -> int:
        """One token that ends an answer; -1 if there is none. A grammar allows all of them or none."""
        candidates = (self._vocabulary.eos, *range(self._vocabulary.n_used))
        return next((token for token in candidates if self.is_end(token)), -1)

    def _kinds_of(self, ids: NDArray[np.int64]) -> NDArray[np.int8]:
        kinds = self._kinds[ids]
        for i in np.flatnonzero(kinds == _UNKNOWN):
            kinds[i] = self._kinds[ids[i]] = self._look(int(ids[i]))
        return kinds

    def _look(self, token: int) -> int:
        if self._vocabulary.is_eog(token):
            return _END
        piece = self._vocabulary.piece(token)
        # llama.cpp's grammars read the text of a control token as if it were written, and stop reading at a zero.
        if not piece or b"\0" in piece:
            return _SILENT
        return _WHOLE if unfinished_after(piece) == b"" else _FRAGMENT


def unfinished_after(data: bytes) -> bytes | None:
    """The first bytes of a character at the end of `data`, which begins with a character; None if it is not UTF-8."""
    try:
        _, n_read = codecs.utf_8_decode(data, "strict", False)
    except UnicodeDecodeError:
        return None
    rest = data[n_read:]
    # Python's decoder waits for the third byte before it refuses half of a surrogate pair; nothing could follow then.
    return None if rest[:1] == b"\xed" and rest[1:2] >= b"\xa0" else rest
