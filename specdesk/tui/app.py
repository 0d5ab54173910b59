"""The chat as a Textual application."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterable, Sequence
from functools import partial
from typing import ClassVar, Final

from textual.app import SystemCommand
from textual.binding import Binding, BindingType
from textual.dom import DOMNode
from textual.driver import Driver
from textual.filter import LineFilter
from textual.screen import Screen
from textual.theme import Theme

from specdesk.errors import SpecdeskError
from specdesk.paths import chats_file, home, models_dir, preferences_file
from specdesk.store.chat_store import ChatStore
from specdesk.tokenview import visible
from specdesk.tui.chat.screen import ChatScreen
from specdesk.tui.engine_thread import EngineThread, Load
from specdesk.tui.keys import HELP, MODELS, sections
from specdesk.tui.messages import EngineLoaded, EngineNotice, LoadFailed
from specdesk.tui.model_changes import ModelChanges
from specdesk.tui.models.shelf import ModelShelf
from specdesk.tui.screens.compare import CompareScreen
from specdesk.tui.screens.help import HelpScreen
from specdesk.tui.setup import Setup
from specdesk.tui.terminal.appearance import SIXTEEN_COLOURS, WithoutColour, fitting_theme, shows_no_colour
from specdesk.tui.terminal.copying import CopyingApp
from specdesk.tui.terminal.driver import terminal_driver

_LEFT_OUT: Final = {"Keys", "Maximize", "Minimize"}
"""Commands of Textual's: a panel that says less than the help, and a widget over all others that tells no way back."""


class ChatApp(CopyingApp[None]):
    """Chats of `store` over an engine that is loaded as `setup` says in a thread of its own, after the first paint.

    When the app has ended, so has the engine.
    """

    TITLE = "specdesk"
    CSS_PATH = "app.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        HELP,
        Binding("ctrl+q", "quit", "Quit", id="app.quit", tooltip="Leave. The chat is kept.", priority=True),
        MODELS,
    ]

    def __init__(self, load: Load, store: ChatStore, setup: Setup, shelf: ModelShelf | None = None) -> None:
        """`load` loads as `setup` says. With a `shelf` of models its first ones come first, fetched if need be."""
        super().__init__()
        self.load_error: SpecdeskError | None = None
        """Why there is no engine, if there is none."""
        self.engine = EngineThread(load, lambda message: self._chat.post_message(message))
        self._setup = setup
        self._chat = ChatScreen(self.engine, store, setup)
        self._models: ModelChanges | None = None
        if shelf is not None:
            self._models = ModelChanges(
                self, shelf, self.engine.start, self._chat.load_models, self._chat.hold_models, self._note
            )
        self._worn = self.theme
        self._without_colour = WithoutColour()
        self.no_color = self.no_color or shows_no_colour(self.console)

    def get_driver_class(self) -> type[Driver]:
        """Textual's, but for pastes."""
        return terminal_driver(super().get_driver_class())

    async def on_mount(self) -> None:
        """Load the models once there is something to look at."""
        # Without this a SIGTERM would leave the terminal as the chat has set it.
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self.leave)
        self._dress()
        await self.push_screen(self._chat)
        self._chat.call_after_refresh(self.engine.start if self._models is None else self._models.begin)

    def on_load_failed(self, message: LoadFailed) -> None:
        """The screen says it; if nothing comes of trying again, the exit code will too."""
        self.load_error = message.error
        if self._models is not None:
            self._models.failed(message.error)

    def on_engine_loaded(self, message: EngineLoaded) -> None:
        """All is well."""
        self.load_error = None
        if self._models is not None:
            self._models.loaded(message.info)

    def on_engine_lost(self) -> None:
        """Whatever is chosen next has to be loaded."""
        if self._models is not None:
            self._models.lost()

    def action_models(self) -> None:
        """Choose other models."""
        if self._models is not None:
            self._models.choose()

    def action_help(self) -> None:
        """Show all keys."""
        files = {"everything": home(), "chats": chats_file(), "settings": preferences_file(), "models": models_dir()}
        self.push_screen(HelpScreen(sections(self), files))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave out what cannot be done."""
        if action == "models":
            # A comparison names its models, and one of them may become the chat's answer.
            compares = any(isinstance(screen, CompareScreen) for screen in self.screen_stack)
            return self._models is not None and not compares
        return super().check_action(action, parameters)

    def _note(self, text: str) -> None:
        self._chat.post_message(EngineNotice(text))

    def get_line_filters(self) -> Sequence[LineFilter]:
        """What is applied to every line before it is shown."""
        filters = super().get_line_filters()
        return self._without_colour.instead_of(filters, ansi=self.native_ansi_color) if self.no_color else filters

    def _dress(self) -> None:
        """Take the theme that was chosen, if this terminal can show it; another choice is kept."""
        for theme in SIXTEEN_COLOURS:
            self.register_theme(theme)
        chosen = self._setup.values["theme"]
        self._worn, said = fitting_theme(self.available_themes, chosen, self.theme, self.console)
        self.theme = self._worn
        if said:
            self.notify(visible(f"{self._setup.path}: {said}"), severity="warning", markup=False)
        self.theme_changed_signal.subscribe(self, self._keep_theme)

    def _keep_theme(self, theme: Theme) -> None:
        if theme.name != self._worn:
            self._worn = theme.name
            self._chat.remember("theme", theme.name)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Everything that keys can do here, by name, beside Textual's own."""
        named: set[str] = set()
        told: set[tuple[str, DOMNode]] = set()
        for active in screen.active_bindings.values():
            binding, what = active.binding, (active.binding.action, active.node)
            # Several keys may do the same, such as a letter in both cases.
            if active.enabled and binding.description and binding.tooltip and what not in told:
                told.add(what)
                named.add(binding.description)
                yield SystemCommand(binding.description, binding.tooltip, partial(self.run_action, *what))
        for command in super().get_system_commands(screen):
            if command.title not in named | _LEFT_OUT:
                yield command

    def leave(self) -> None:
        """Keep what came of the answer under way, and leave."""
        self._chat.keep()
        self.engine.cancel()
        self.exit()

    async def action_quit(self) -> None:
        """As the key says."""
        self.leave()

    async def on_unmount(self) -> None:
        """Wait for the engine's thread: it frees the models."""
        await asyncio.to_thread(self.engine.close)
