"""Text with who wrote it, as it grows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.containers import ScrollableContainer
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from specdesk.core.events import AnswerToken
from specdesk.tokenview import REFUSED, Kind, Span, marked, marks, styles
from specdesk.tui.rows import Rows
from specdesk.tui.terminal.appearance import has_styles
from specdesk.tui.widgets.headroom import Headroom

_TAB: Final = "    "
_CURSOR: Final = Style(reverse=True)


class TokenView(Widget):
    """Paints spans in the styles of their kinds. Adding to it costs what is added, however long it is.

    A token under the mouse, or one that was chosen, is pointed out to whoever listens.
    Not handled: selecting text with the mouse.
    """

    ALLOW_SELECT = False

    @dataclass
    class Pointed(Message):
        """A token is pointed at, or none any more."""

        view: TokenView
        span: Span | None

        @property
        def control(self) -> TokenView:
            """Where it is."""
            return self.view

    def __init__(self, *, show_rejected: bool) -> None:
        super().__init__()
        self._has_draft = False
        self._look()
        self._show_rejected = show_rejected
        self._spans: list[Span] = []
        self._rows = Rows(1)
        self._grows = False
        self._headroom = Headroom()
        self._chosen: int | None = None
        self._pointed: Span | None = None

    def on_mount(self) -> None:
        """From here on it is known whether there are colours."""
        self._look()

    @property
    def spans(self) -> tuple[Span, ...]:
        """All spans, the rejected ones too, shown or not."""
        return tuple(self._spans)

    def extend(self, spans: Iterable[Span]) -> None:
        """Append spans; more may follow."""
        self._grows = True
        had_draft = self._has_draft
        first = len(self._rows) - 1
        for span in spans:
            self._has_draft |= span.kind is not Kind.PLAIN
            self._spans.append(replace(span, text=span.text.replace("\t", _TAB)))
            if self._shows(span):
                self._rows.add(self._as_shown(self._spans[-1]))
        if self._has_draft and not had_draft:
            self._look()
            if self._marks:
                self._wrap(self._rows.width)
            self._paint()
        else:
            self._paint(Region(0, first, self._rows.width, len(self._rows) - first))

    def finish(self) -> None:
        """There are no more spans."""
        self._grows = False
        self._paint()

    def show_rejected(self, shown: bool) -> None:
        """Show or hide the rejected draft tokens."""
        self._show_rejected = shown
        self._wrap(self._rows.width)
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002 — Textual's
        """Rows at that width."""
        if width != self._rows.width:
            self._wrap(width)
        return self._headroom.give(len(self._rows), grows=self._grows)

    def render_line(self, y: int) -> Strip:
        """One row."""
        base = self.visual_style.rich_style
        row: Sequence[Span] = self._rows[y] if y < len(self._rows) else ()
        segments = [Segment(span.text, base + self._style_of(span)) for span in row]
        return Strip(segments).adjust_cell_length(self.size.width, base)

    # --- pointing at tokens

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Point at what is under the mouse."""
        at = event.get_content_offset(self)
        self._point(None if at is None else self._span_at(at.x, at.y))

    def on_leave(self) -> None:
        """Back to the chosen token, if there is one."""
        self._point(self._chosen_span)

    def choose_next(self, step: int) -> None:
        """Choose the next token in that direction, at first the one that it comes to from the end behind it."""
        shown = [i for i, span in enumerate(self._spans) if span.whole is not None and self._shows(span)]
        if not shown:
            return
        if self._chosen is None:
            self._choose(shown[0 if step > 0 else -1])
            return
        at = next((n for n, i in enumerate(shown) if i >= (self._chosen or 0)), len(shown) - 1)
        self._choose(shown[max(0, min(len(shown) - 1, at + step))])

    def mark(self, token: AnswerToken) -> None:
        """Choose a token of the answer without pointing it out; one without text of its own cannot be chosen."""
        self._mark(next((i for i, span in enumerate(self._spans) if span.token is token), None))

    def choose_none(self) -> None:
        """Point at none any more."""
        self._choose(None)

    @property
    def _chosen_span(self) -> Span | None:
        return None if self._chosen is None else self._spans[self._chosen]

    def _choose(self, index: int | None) -> None:
        if index != self._chosen:
            self._mark(index)
            self._point(self._chosen_span)

    def _mark(self, index: int | None) -> None:
        self._chosen = index
        self.refresh()
        if index is not None:
            # Nothing has its place yet where the view was shown just now.
            self.call_after_refresh(self._show_chosen)

    def _row_of_chosen(self) -> int | None:
        token = None if self._chosen_span is None else self._chosen_span.whole
        if token is None:
            return None
        return next((y for y in range(len(self._rows)) if any(span.whole is token for span in self._rows[y])), None)

    def _show_chosen(self) -> None:
        row = self._row_of_chosen()
        container = next((node for node in self.ancestors if isinstance(node, ScrollableContainer)), None)
        if row is None or container is None or not self.display:
            return
        below_top = self.region.y - container.scrollable_content_region.y
        container.release_anchor()
        container.scroll_to_region(Region(0, below_top + container.scroll_offset.y + row, 1, 1), animate=False)

    def _point(self, span: Span | None) -> None:
        if span is not self._pointed:
            self._pointed = span
            self.post_message(self.Pointed(self, span))

    def _span_at(self, x: int, y: int) -> Span | None:
        if not 0 <= y < len(self._rows):
            return None
        at = 0
        for span in self._rows[y]:
            at += cell_len(span.text)
            if x < at:
                return span if span.whole is not None else None
        return None

    def _look(self) -> None:
        """Where nothing was drafted yet, there is nothing to tell the target's own tokens from."""
        self._marks = {} if has_styles(os.environ) else marks(speculating=self._has_draft)
        parsed = {kind: Style.parse(style) for kind, style in styles(speculating=self._has_draft).items()}
        if self.is_attached and self.app.no_color:  # the other cues, at full contrast
            parsed = {kind: style.without_color for kind, style in parsed.items()}
        self._styles = parsed

    def _as_shown(self, span: Span) -> Span:
        return replace(span, text=marked(span.text, self._marks[span.kind])) if self._marks else span

    def _style_of(self, span: Span) -> Style:
        style = self._styles[span.kind]
        chosen = self._chosen_span
        if chosen is not None and span.whole is not None and span.whole is chosen.whole:
            return style + _CURSOR
        return style

    def _paint(self, *changed: Region) -> None:
        self.refresh(*changed, layout=self.display and not self._headroom.fits(len(self._rows), grows=self._grows))

    def _shows(self, span: Span) -> bool:
        return self._show_rejected or span.kind not in REFUSED

    def _wrap(self, width: int) -> None:
        self._rows = Rows(width, map(self._as_shown, filter(self._shows, self._spans)))
