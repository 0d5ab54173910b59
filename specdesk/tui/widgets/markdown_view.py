"""Markdown as it grows."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Markdown

from specdesk.tokenview import visible


class MarkdownView(Vertical):
    """Shows an answer as Markdown."""

    def __init__(self) -> None:
        super().__init__()
        self._text = ""
        self._shown = ""

    def compose(self) -> ComposeResult:
        """The document."""
        yield Markdown(open_links=False)

    def on_mount(self) -> None:
        """Show what came before."""
        self._show()

    def append(self, text: str) -> None:
        """Add to it."""
        self._text += text
        self._show()

    def finish(self) -> None:
        """Nothing more comes."""
        self._show()

    def _show(self) -> None:
        if self.is_mounted and self._shown != self._text:
            self._shown = self._text
            self.query_one(Markdown).update(visible(self._text))
