"""Text with who wrote it, as it grows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from specdesk.tokenview import REFUSED, Span, styles
from specdesk.tui.widgets.rows import Rows

_TAB = "    "


class TokenView(Widget):
    """Paints spans in the styles of their kinds. Adding to it costs what is added, however long it is.

    Not handled: selecting text with the mouse.
    """

    ALLOW_SELECT = False

    def __init__(self, *, speculating: bool, show_rejected: bool) -> None:
        super().__init__()
        self._styles = {kind: Style.parse(style) for kind, style in styles(speculating=speculating).items()}
        self._show_rejected = show_rejected
        self._spans: list[Span] = []
        self._rows = Rows(1)

    def on_mount(self) -> None:
        """Under NO_COLOR the other cues remain, at full contrast."""
        if self.app.no_color:
            self._styles = {kind: style.without_color for kind, style in self._styles.items()}

    @property
    def spans(self) -> tuple[Span, ...]:
        """All spans, the rejected ones too, shown or not."""
        return tuple(self._spans)

    def extend(self, spans: Iterable[Span]) -> None:
        """Append spans."""
        first, n_before = len(self._rows) - 1, len(self._rows)
        for span in spans:
            span = replace(span, text=span.text.replace("\t", _TAB))
            self._spans.append(span)
            if self._shows(span):
                self._rows.add(span)
        changed = Region(0, first, self._rows.width, len(self._rows) - first)
        self.refresh(changed, layout=len(self._rows) != n_before)

    def show_rejected(self, shown: bool) -> None:
        """Show or hide the rejected draft tokens."""
        self._show_rejected = shown
        self._wrap(self._rows.width)
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002 — Textual's
        """Rows at that width."""
        if width != self._rows.width:
            self._wrap(width)
        return len(self._rows)

    def render_line(self, y: int) -> Strip:
        """One row."""
        base = self.visual_style.rich_style
        row = self._rows[y] if y < len(self._rows) else ()
        segments = [Segment(span.text, base + self._styles[span.kind]) for span in row]
        return Strip(segments).adjust_cell_length(self.size.width, base)

    def _shows(self, span: Span) -> bool:
        return self._show_rejected or span.kind not in REFUSED

    def _wrap(self, width: int) -> None:
        self._rows = Rows(width, filter(self._shows, self._spans))
