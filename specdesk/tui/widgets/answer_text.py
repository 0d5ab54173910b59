"""The text of one answer: what the model thought, and what it says."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical

from specdesk.tui.markdown.reasoning import Kind, Part, ReasoningSplitter
from specdesk.tui.widgets.markdown_view import MarkdownView
from specdesk.tui.widgets.reasoning import Reasoning


class AnswerText(Vertical):
    """Shows an answer as Markdown while it grows, its reasoning apart.

    `opened`: it begins within reasoning, since the template of the prompt has opened a section.
    """

    DEFAULT_CSS = """
    AnswerText {
        height: auto;
    }
    """

    def __init__(self, *, opened: bool = False) -> None:
        super().__init__()
        self.reasoning = Reasoning()
        self.answer = MarkdownView()
        self._splitter = ReasoningSplitter(opened=opened)
        self._thinking = opened

    def compose(self) -> ComposeResult:
        """Reasoning above the answer."""
        yield self.reasoning
        yield self.answer

    def append(self, text: str) -> None:
        """Add text as the model writes it, tags and all."""
        for part in self._splitter.add(text):
            self._show(part)

    def finish(self) -> None:
        """There is no more text."""
        for part in self._splitter.finish():
            self._show(part)
        if self._thinking:
            self.reasoning.break_off()
        self.answer.finish()

    def _show(self, part: Part) -> None:
        if part.kind is Kind.ANSWER:
            self.answer.append(part.text)
            return
        if not self._thinking and self.reasoning.source and part.text:
            self.reasoning.append("\n\n")
        self._thinking = not part.closed
        self.reasoning.append(part.text)
        if part.closed:
            self.reasoning.close()
