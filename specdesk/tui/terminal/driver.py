"""How the chat reads the terminal."""

from __future__ import annotations

import codecs
import os
import selectors

from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver

from specdesk.tui.terminal.pastes import PasteSafeParser

_WAIT_S = 0.1
"""How soon the end of the program, or of a lone Escape, is noticed."""


class TerminalDriver(LinuxDriver):
    """Textual's driver for Linux and macOS, with pastes that hold whatever they like.

    Bytes that are no UTF-8 become U+FFFD instead of ending the program.
    """

    def run_input_thread(self) -> None:
        """Read keys and pastes until the program ends or there is nothing more to read."""
        parser = PasteSafeParser(self._debug)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        # Of all selectors only this one takes a terminal on every system.
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                if selector.select(_WAIT_S):
                    data = os.read(self.fileno, 65536)
                    if not data:
                        return
                    # A piece of a character has no text yet, and empty text would end the parser.
                    if text := decoder.decode(data):
                        for event in parser.feed(text):
                            self.process_message(event)
                for event in parser.tick():
                    self.process_message(event)


def terminal_driver(usual: type[Driver]) -> type[Driver]:
    """The driver to use where Textual would take `usual`: one chosen by the environment stays."""
    return TerminalDriver if usual is LinuxDriver else usual
