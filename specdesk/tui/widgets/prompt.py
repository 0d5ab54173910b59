"""Where the user writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea

from specdesk.tokenview import visible

_CONTROLS = dict.fromkeys(code for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t")


class Prompt(TextArea):
    """A text field that grows with its text. Enter sends, if something may be sent; otherwise the text stays."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "send", "Send", id="prompt.send", tooltip="Ask this."),
        Binding(
            "ctrl+j,shift+enter",
            "new_line",
            id="prompt.new_line",
            tooltip="Begin a new line.",
            show=False,
        ),
    ]

    @dataclass
    class Sent(Message):
        """The user wants `text` answered; it has left the prompt, which refuses until it is told what to do next."""

        prompt: Prompt
        text: str

        @property
        def control(self) -> Prompt:
            """The prompt."""
            return self.prompt

    def __init__(self) -> None:
        super().__init__(placeholder="Ask something", tab_behavior="focus", highlight_cursor_line=False)
        self._refusal: str | None = ""

    def expect(self, hint: str, refusal: str | None) -> None:
        """Show a hint; `refusal` is what to show instead when Enter must not send, None when it may."""
        self._say(hint)
        self._refusal = refusal
        self.set_class(refusal is not None, "-waiting")

    def on_key(self, event: events.Key) -> None:
        """Take Enter in its place among the letters.

        A priority binding would overtake the letters typed before it, and a plain one falls behind those after it.
        """
        if event.key == "enter":
            self.action_send()
        elif event.key in {"ctrl+j", "shift+enter"}:
            self.action_new_line()
        else:
            return
        event.stop()
        event.prevent_default()

    def action_send(self) -> None:
        """Send the text, or say why not; nothing happens without text."""
        if not self.text.strip():
            return
        if self._refusal is not None:
            self._say(self._refusal)
            return
        text = self.text
        self._refusal = ""
        self.clear()
        self.post_message(self.Sent(self, text))

    def _say(self, text: str) -> None:
        # A string would be read as markup, and file names are no markup.
        self.border_subtitle = Text(visible(text))

    def action_new_line(self) -> None:
        """Break the line at the cursor."""
        self.replace("\n", *self.selection)

    def on_paste(self, event: events.Paste) -> None:
        """Let text through and nothing that would drive a terminal."""
        event.text = event.text.replace("\r\n", "\n").replace("\r", "\n").translate(_CONTROLS)
