"""What the model thought, folded away when it is done."""

from __future__ import annotations

import re

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Static

from specdesk.tui.widgets.markdown_view import MarkdownView

_THINKING = "thinking …"
_WORD_BEGINS = re.compile(r"(?<!\S)\S")


class _Title(Static):
    """A line that can be clicked; the focus stays where the user writes."""

    class Clicked(Message):
        """The user wants it folded, or not."""

    def on_click(self, event: events.Click) -> None:
        """Tell the widget it belongs to."""
        event.stop()
        self.post_message(self.Clicked())


class Reasoning(Vertical):
    """Reasoning that grows; there is nothing to see while it is empty. It folds when it is closed."""

    DEFAULT_CSS = """
    Reasoning {
        height: auto;
        display: none;
        margin-bottom: 1;
    }
    Reasoning.-begun {
        display: block;
    }
    Reasoning _Title {
        width: auto;
        color: $text-muted;
    }
    Reasoning MarkdownView {
        margin-left: 2;
        color: $text-muted;
    }
    Reasoning.-folded MarkdownView {
        display: none;
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._title = _Title(markup=False)
        self._view = MarkdownView()
        self._n_words = 0
        self._in_word = False
        self._state = _THINKING

    def compose(self) -> ComposeResult:
        """The line with its length, and the text."""
        yield self._title
        yield self._view

    @property
    def source(self) -> str:
        """The exact text so far."""
        return self._view.source

    @property
    def folded(self) -> bool:
        """Whether only the title is shown."""
        return self.has_class("-folded")

    def append(self, text: str) -> None:
        """Add text at the end."""
        if text:
            self._n_words += len(_WORD_BEGINS.findall(text)) - (self._in_word and not text[0].isspace())
            self._in_word = not text[-1].isspace()
            self._state = _THINKING
            self._view.append(text)
            self.add_class("-begun")
        self._show_title()

    def close(self) -> None:
        """The end of it has come: fold it."""
        self._view.finish()
        self._state = "thought for"
        self.fold(True)

    def break_off(self) -> None:
        """There is no more text, and its end has not come."""
        self._view.finish()
        self._state = "stopped thinking after"
        self._show_title()

    def fold(self, folded: bool) -> None:
        """Show the title only, or the text too."""
        self.set_class(folded, "-folded")
        self._show_title()

    @on(_Title.Clicked)
    def toggle(self, message: _Title.Clicked) -> None:
        """The other way round."""
        message.stop()
        self.fold(not self.folded)

    def _show_title(self) -> None:
        words = "1 word" if self._n_words == 1 else f"{self._n_words:,} words"
        self._title.update(f"{'▸' if self.folded else '▾'} {self._state} {words}")
