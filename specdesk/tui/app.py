"""The chat as a Textual application."""

from __future__ import annotations

import asyncio
import signal
from typing import ClassVar

from textual.app import App
from textual.binding import Binding, BindingType

from specdesk.errors import SpecdeskError
from specdesk.tui.conversation import ChatOptions
from specdesk.tui.engine_thread import EngineThread, Load
from specdesk.tui.messages import LoadFailed
from specdesk.tui.screens.chat import ChatScreen


class ChatApp(App[None]):
    """Chats over an engine that `load` makes in a thread of its own, after the first paint.

    When the app has ended, so has the engine.
    """

    TITLE = "specdesk"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", "Quit", id="app.quit", tooltip="Leave; the chat is not kept.", priority=True),
    ]

    def __init__(self, load: Load, options: ChatOptions) -> None:
        super().__init__()
        self.load_error: SpecdeskError | None = None
        """Why there is no engine, if there is none."""
        self.engine = EngineThread(load, lambda message: self._chat.post_message(message))
        self._chat = ChatScreen(self.engine, options)

    async def on_mount(self) -> None:
        """Load the models once there is something to look at."""
        # Without this a SIGTERM would leave the terminal as the chat has set it.
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self.exit)
        await self.push_screen(self._chat)
        self._chat.call_after_refresh(self.engine.start)

    def on_load_failed(self, message: LoadFailed) -> None:
        """The screen says it; if nothing comes of trying again, the exit code will too."""
        self.load_error = message.error

    def on_engine_loaded(self) -> None:
        """All is well."""
        self.load_error = None

    async def action_quit(self) -> None:
        """End the answer under way and leave."""
        self.engine.cancel()
        self.exit()

    async def on_unmount(self) -> None:
        """Wait for the engine's thread: it frees the models."""
        await asyncio.to_thread(self.engine.close)
