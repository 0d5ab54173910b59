"""The answer as it streams to standard output."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TextIO

from rich.console import Console
from rich.text import Text

from specdesk.core.events import Event, Finished, HistoryCut, PromptRead, PromptTokens, Step
from specdesk.tokenview import Span, delta_spans, legend, spans, styles, visible


class Painter(Protocol):
    """Shows an answer while it is decoded."""

    def paint(self, event: Event) -> None:
        """Show what the event adds."""


class SilentPainter:
    """Shows nothing."""

    def paint(self, event: Event) -> None:
        """Nothing."""


class PlainPainter:
    """The text alone as soon as it is final: byte for byte, but for control characters on a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._shown = visible if stream.isatty() else str
        self._ended_line = True

    def paint(self, event: Event) -> None:
        """Write the final text of the event; a newline at the end if the answer has none."""
        if isinstance(event, HistoryCut | PromptTokens | PromptRead):
            return
        text = "".join(delta.text for delta in event.deltas)
        if text:
            self._stream.write(self._shown(text))
            self._ended_line = text.endswith("\n")
        if isinstance(event, Finished) and not self._ended_line:
            self._stream.write("\n")
        self._stream.flush()


class TokenPainter:
    """Text with who wrote it: accepted, replacement and bonus tokens told apart, rejected ones on request."""

    def __init__(self, console: Console, *, speculating: bool, show_rejected: bool) -> None:
        self._console = console
        self._styles = styles(speculating=speculating)
        self._show_rejected = show_rejected
        self._ended_line = True

    def paint(self, event: Event) -> None:
        """Write the event's spans; the newline at the end keeps the shell's prompt apart."""
        match event:
            case Step():
                self._write(spans(event, show_rejected=self._show_rejected))
            case Finished():
                self._write(delta_spans(event.deltas))
                if not self._ended_line:
                    self._console.print()
            case HistoryCut() | PromptTokens() | PromptRead():
                pass

    def _write(self, shown: Iterable[Span]) -> None:
        for span in shown:
            if span.text:
                self._console.print(Text(span.text, self._styles[span.kind]), end="")
                self._ended_line = span.text.endswith("\n")
        self._console.file.flush()


def legend_line(*, show_rejected: bool) -> Text:
    """What the styles mean, in those styles."""
    return Text("  ").join(Text(words, style) for words, style in legend(short=False, refused=show_rejected))
