"""An answer as Markdown, while it grows and when it is done."""

from __future__ import annotations

import asyncio
from typing import Final

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget
from textual.worker import Worker

from specdesk.tui.markdown.markdown_rows import MarkdownRows
from specdesk.tui.widgets.headroom import Headroom

_DARK: Final = "ansi_dark"
_LIGHT: Final = "ansi_light"


class MarkdownView(Widget):
    """Paints Markdown. Adding to it costs what is added, however long it is; colours follow when there is time.

    Nothing in it acts: a link shows where it leads, an image is not fetched, HTML is text.

    Not handled: selecting text with the mouse.
    """

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    MarkdownView {
        height: auto;
    }
    """

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self._source = [text]
        self._finished = bool(text)
        self._width = 0
        self._theme = _DARK
        self._headroom = Headroom()
        self._rows = self._made()
        self._colouring: Worker[None] | None = None

    @property
    def source(self) -> str:
        """The exact text so far."""
        return "".join(self._source)

    def append(self, text: str) -> None:
        """Add text at the end."""
        self._finished = False
        self._source.append(text)
        self._paint_from(self._rows.add(text))

    def finish(self) -> None:
        """Show it as it stays: there is no more text."""
        self._finished = True
        self._paint_from(self._rows.finish())

    def on_mount(self) -> None:
        """From here on the theme is known, and colours can be made."""
        self._follow_theme()
        self._colour_soon()
        self.watch(self.app, "theme", self._follow_theme, init=False)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002 — Textual's
        """Rows at that width."""
        self._width = width
        self._rows.wrap(width)
        return self._headroom.give(len(self._rows), grows=not self._finished)

    def render_line(self, y: int) -> Strip:
        """One row."""
        base = self.visual_style.rich_style
        row = self._rows[y] if y < len(self._rows) else []
        if self.app.no_color:
            # The cues besides colour remain, at full contrast.
            row = [Segment(text, style and style.without_color) for text, style, _ in row]
        segments = [Segment(text, base + (style or Style.null())) for text, style, _ in row]
        return Strip(segments).adjust_cell_length(self.size.width, base)

    def _follow_theme(self) -> None:
        theme = _DARK if self.app.current_theme.dark else _LIGHT
        if theme != self._theme:
            self._theme = theme
            self._rows = self._made()
            self._paint_from(0)

    def _made(self) -> MarkdownRows:
        rows = MarkdownRows(theme=self._theme)
        rows.wrap(self._width)
        rows.add(self.source)
        if self._finished:
            rows.finish()
        return rows

    def _paint_from(self, y: int) -> None:
        fits = self._headroom.fits(len(self._rows), grows=not self._finished)
        self.refresh(Region(0, y, self._width, max(1, len(self._rows) - y)), layout=not fits)
        self._colour_soon()

    def _colour_soon(self) -> None:
        idle = self._colouring is None or self._colouring.is_finished
        if self.is_attached and idle and self._rows.wants_colour():
            self._colouring = self.run_worker(self._colour(), group="colours")

    async def _colour(self) -> None:
        """A little at a time: reading a thousand lines takes longer than a key press may wait."""
        while self._rows.wants_colour():
            for rows in self._rows.colour():
                self.refresh(Region(0, rows.start, self._width, len(rows)))
                await asyncio.sleep(0)
