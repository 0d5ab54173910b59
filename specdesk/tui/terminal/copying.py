"""All that is copied in the program goes one way, and its end is told."""

from __future__ import annotations

from dataclasses import dataclass

from textual.app import App, ReturnType
from textual.message import Message

from specdesk.tui.terminal.clipboard import Clipboard, Copied


@dataclass
class TextCopied(Message):
    """What became of a text that was to be copied; the screen gets it."""

    copied: Copied


class CopyingApp(App[ReturnType]):
    """An app in which copying means: by a tool of the system, else by the terminal. Widgets of Textual copy so too."""

    def __init__(self) -> None:
        super().__init__()
        self._latest_copy = ""
        self._copier = Clipboard(super().copy_to_clipboard)

    @property
    def clipboard(self) -> str:
        """What was copied last in the program: what Ctrl+V inserts."""
        return self._latest_copy

    def copy_to_clipboard(self, text: str) -> None:
        """Copy `text`; TextCopied tells the screen how that went."""
        self._latest_copy = text
        self.run_worker(self._copy(text), group="copying")

    async def _copy(self, text: str) -> None:
        copied = await self._copier.copy(text)
        self.screen.post_message(TextCopied(copied))
