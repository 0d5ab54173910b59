"""When an answer ends and which of its text is final, judged token by token, also inside an accepted block."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import replace

from specdesk.core.events import Delta, Source, StopReason
from specdesk.core.lm import Vocabulary


class AnswerText:
    """Turns tokens into final text: holds back half characters and what may become a stop string.

    No stop string is ever shown, not even in part; the text after it is dropped. The joined deltas equal the decoded
    bytes of all tokens up to the end (invalid bytes as U+FFFD).
    """

    def __init__(self, vocabulary: Vocabulary, max_tokens: int | None, stop_strings: Sequence[str] = ()) -> None:
        """`max_tokens` None is no limit. Raises ValueError for a limit below 1 or an empty stop string."""
        if max_tokens is not None and max_tokens < 1:
            raise ValueError(f"the token limit must be 1 or more, not {max_tokens}")
        if "" in stop_strings:
            raise ValueError("a stop string must not be empty")
        self._vocabulary = vocabulary
        self._max_tokens = max_tokens
        self._stops = tuple(stop_strings)
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._held: list[Delta] = []
        self._n_tokens = 0
        self._last = Source.PLAIN

    @property
    def n_left(self) -> int | None:
        """Tokens until the limit; None without one."""
        return None if self._max_tokens is None else self._max_tokens - self._n_tokens

    def push(self, token: int, source: Source) -> tuple[list[Delta], StopReason | None]:
        """Take the next token of the answer; returns the text it makes final and the reason to end here, if any."""
        self._n_tokens += 1
        self._last = source
        if self._vocabulary.is_eog(token):
            return [], StopReason.EOG
        text = self._decoder.decode(self._vocabulary.piece(token))
        if text:
            self._held.append(Delta(text, source, self._n_tokens - 1))
            held = "".join(delta.text for delta in self._held)
            found = [at for stop in self._stops if (at := held.find(stop)) >= 0]
            if found:
                final = self._release(min(found))
                self._held.clear()
                self._decoder.reset()
                return final, StopReason.STOP
            final = self._release(len(held) - self._partial_stop(held))
        else:
            final = []
        if self._max_tokens is not None and self._n_tokens >= self._max_tokens:
            return final, StopReason.LENGTH
        return final, None

    def flush(self) -> list[Delta]:
        """The text still held back, once no more tokens come; nothing behind a stop string."""
        rest = self._decoder.decode(b"", final=True)
        if rest:
            self._held.append(Delta(rest, self._last, max(0, self._n_tokens - 1)))
        final, self._held = self._held, []
        return final

    def _partial_stop(self, text: str) -> int:
        """Length of the longest end of `text` that begins a stop string."""
        longest = 0
        for stop in self._stops:
            for n in range(min(len(stop) - 1, len(text)), longest, -1):
                if text.endswith(stop[:n]):
                    longest = n
                    break
        return longest

    def _release(self, n_chars: int) -> list[Delta]:
        final: list[Delta] = []
        while self._held and n_chars > 0:
            delta = self._held.pop(0)
            if len(delta.text) > n_chars:
                self._held.insert(0, replace(delta, text=delta.text[n_chars:]))
                delta = replace(delta, text=delta.text[:n_chars])
            n_chars -= len(delta.text)
            final.append(delta)
        return final
