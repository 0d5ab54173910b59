"""Where the user writes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer
from textual.widgets import TextArea
from textual.widgets.text_area import Location

from specdesk.tokenview import visible
from specdesk.tui.recall import Recall
from specdesk.tui.written import cleaned, size_notice

_NARROW = 50
"""Columns below which the border has no room for a sentence."""


class Prompt(TextArea):
    """A text field that grows with its text. Enter sends, if something may be sent; otherwise the text stays.

    Up on the first row and Down on the last one walk through earlier prompts. What is typed or pasted is kept to the
    last character, control characters excepted.

    Not handled: moving and deleting by grapheme; Backspace takes an emoji of several code points apart.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "send", "Send", id="prompt.send", tooltip="Ask this."),
        Binding(
            "ctrl+j,shift+enter",
            "new_line",
            id="prompt.new_line",
            tooltip="Begin a new line.",
            show=False,
        ),
        Binding("up", "older", id="prompt.older", tooltip="A row up; on the first, an earlier prompt.", show=False),
        Binding("down", "newer", id="prompt.newer", tooltip="A row down; on the last, a later prompt.", show=False),
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
        self.match_cursor_bracket = False
        self._hint = ""
        self._refusal: str | None = ""
        self._later: str | None = None
        self._queued: str | None = None
        self._said: Timer | None = None
        self._recall = Recall()
        self._holds: int | None = None
        self._factor = 1.0

    def expect(self, hint: str, refusal: str | None, *, later: str | None = None) -> None:
        """Show a hint; `refusal` is what to show instead when Enter must not send, None when it may.

        With `later`, which is shown behind the hint, Enter sends as soon as that may be, unless the text is changed.
        """
        self._hint = hint
        self._refusal = refusal
        self._later = later
        queued = self._queued
        if later is None:
            self._queued = None
        self._show_hint()
        if refusal is None and queued == self.text:
            self.action_send()
        self.set_class(refusal is not None, "-waiting")

    @property
    def is_queued(self) -> bool:
        """Whether the text will be sent later."""
        return self._queued is not None

    def withdraw(self) -> None:
        """Do not send it later; it stays."""
        if self._queued is not None:
            self._queued = None
            self._show_hint()
            self.refresh_bindings()

    def say(self, text: str, *, for_s: float) -> None:
        """Show `text` in the hint's place, for so long or until the next hint."""
        self._show_hint()
        self._show_beside(text)
        self._said = self.set_timer(for_s, self._show_hint)

    def recall_from(self, prompts: Iterable[str]) -> None:
        """Walk through these earlier prompts, the oldest first; what is sent from now on is added to them."""
        self._recall = Recall(map(cleaned, prompts))

    def capacity(self, holds: int | None, factor: float = 1.0) -> None:
        """Say so in the border where the text is longer than a context that `holds` so many tokens; None: never.

        `factor`: how many times as many tokens other texts had as estimated.
        """
        self._holds = holds
        self._factor = factor
        self._show_size()

    def put_away(self) -> None:
        """Take the text out and keep it as the latest of the earlier prompts."""
        if self.text.strip():
            self._recall.add(self.text)
        self.clear()

    async def on_key(self, event: events.Key) -> None:
        """Take every key in its place.

        A priority binding would overtake the letters typed before it, and a plain one falls behind those after it:
        keys come in bursts from a slow line.
        """
        if event.is_printable:
            return
        bound = self.screen.active_bindings.get(event.key)
        if bound is not None and bound.node is self:
            if not (bound.enabled and await self.app.run_action(bound.binding.action, self)):
                return
        elif bound is None and (typed := cleaned(event.character or "").strip("\n\t")):
            # Textual drops what Python does not call printable: joiners inside emoji, the ideographic space.
            self._insert(typed)
        else:
            return
        event.stop()
        event.prevent_default()

    def action_send(self) -> None:
        """Send the text, or say why not; nothing happens without text."""
        if not self.text.strip():
            return
        if self._refusal is not None and self._later is not None:
            self._queued = self.text
            self._show_hint()
            self.refresh_bindings()
            return
        if self._refusal is not None:
            self._show_beside(self._refusal)
            return
        text = self.text
        self._refusal = ""
        self.put_away()
        self.post_message(self.Sent(self, text))

    def action_new_line(self) -> None:
        """Break the line at the cursor."""
        self._insert("\n")

    def action_older(self) -> None:
        """From the first row to an earlier prompt, else a row up."""
        on_edge = self.navigator.is_first_wrapped_line(self.cursor_location) and self.selection.is_empty
        text = self._recall.older(self.text) if on_edge else None
        if text is None:
            self.action_cursor_up()
        else:
            self._replace_all(text)
            self.move_cursor((0, len(self.document[0])))

    def action_newer(self) -> None:
        """From the last row to a later prompt, else a row down."""
        on_edge = self.navigator.is_last_wrapped_line(self.cursor_location) and self.selection.is_empty
        text = self._recall.newer(self.text) if on_edge else None
        if text is None:
            self.action_cursor_down()
        else:
            self._replace_all(text)

    def action_paste(self) -> None:
        """Paste what was copied in the program, as if the terminal had sent it."""
        self._insert(cleaned(self.app.clipboard))

    def on_paste(self, event: events.Paste) -> None:
        """Let text through and nothing that would drive a terminal."""
        event.text = cleaned(event.text)

    def _insert(self, text: str) -> None:
        self.replace(text, *self.selection, maintain_selection_offset=False)

    def _replace_all(self, text: str) -> None:
        """An edit like any other, which can be undone; the cursor goes to the end."""
        self.replace(text, (0, 0), self.document.end, maintain_selection_offset=False)

    def on_text_area_changed(self) -> None:
        """Estimate anew; what was to be sent later is another text now."""
        if self._queued != self.text:
            self.withdraw()
        self._show_size()

    def render_line(self, y: int) -> Strip:
        """A row. Textual fails at wrapping the placeholder to no width at all."""
        return super().render_line(y) if self.content_size.width > 0 else Strip.blank(0)

    def on_resize(self) -> None:
        """The words in the border depend on its width, and the rows on screen must not leave the cursor behind."""
        self._show_size()
        self.call_after_refresh(self.scroll_cursor_visible)

    def find_matching_bracket(self, bracket: str, search_from: Location) -> Location | None:  # noqa: ARG002 — Textual's
        """None: the search would read the whole text at each move of the cursor."""
        return None

    def _show_hint(self) -> None:
        if self._said is not None:
            self._said.stop()
            self._said = None
        self._show_beside(self._hint if self._queued is None else f"{self._hint} · {self._later}")

    def _show_beside(self, text: str) -> None:
        # A plain string would be read as markup.
        self.border_subtitle = Text(visible(text))

    def _show_size(self) -> None:
        short = self.size.width < _NARROW
        self.border_title = size_notice(self.text, holds=self._holds, factor=self._factor, short=short)
