"""Pastes as terminals send them."""

from __future__ import annotations

from collections.abc import Iterable

from textual import events
from textual._xterm_parser import BRACKETED_PASTE_END, BRACKETED_PASTE_START, XTermParser
from textual.message import Message

_TAIL = len(BRACKETED_PASTE_START) - 1


class PasteSafeParser(XTermParser):
    """Textual's parser, but all that stands between the marks of a paste is the text of one Paste event.

    Textual's own takes an ESC among pasted text for the beginning of a key: it types what follows, Enter too, and
    where the end mark comes in two pieces with a pause between them it never finds the end.

    Not handled: a pause within the start mark.
    """

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._before = ""
        """The last characters outside of a paste: a start mark may be cut over two reads."""
        self._pasted: list[str] | None = None
        """The pieces of the paste under way."""

    def feed(self, data: str) -> Iterable[Message]:
        """The events in `data`, which may end anywhere; empty data ends the input."""
        if not data:
            yield from super().feed(data)
        while data:
            if self._pasted is None:
                seen = self._before + data
                at = seen.find(BRACKETED_PASTE_START)
                end = len(data) if at < 0 else at + len(BRACKETED_PASTE_START) - len(self._before)
                yield from super().feed(data[:end])
                self._before = seen[-_TAIL:] if at < 0 else ""
                self._pasted = None if at < 0 else []
                data = data[end:]
            else:
                text, mark, data = (self._pasted.pop() + data if self._pasted else data).partition(BRACKETED_PASTE_END)
                if mark:
                    yield from self._end_paste(text)
                else:
                    # An end mark may be cut over two reads.
                    self._pasted += [text[:-_TAIL], text[-_TAIL:]]

    def _end_paste(self, last: str) -> Iterable[Message]:
        text = "".join([*(self._pasted or ()), last])
        self._pasted = None
        # Textual's parser has seen the start mark: it sees the end mark too, and an empty paste between them.
        yield from (event for event in super().feed(BRACKETED_PASTE_END) if not isinstance(event, events.Paste))
        yield events.Paste(text)
