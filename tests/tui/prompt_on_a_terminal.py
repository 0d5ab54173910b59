"""A program for test_terminal.py: what is sent in its prompt is printed as JSON when the program ends."""

from __future__ import annotations

import json

from textual import on
from textual.app import App, ComposeResult
from textual.driver import Driver

from specdesk.tui.terminal.driver import terminal_driver
from specdesk.tui.widgets.prompt import Prompt


class OnePrompt(App[str]):
    def get_driver_class(self) -> type[Driver]:
        return terminal_driver(super().get_driver_class())

    def compose(self) -> ComposeResult:
        yield Prompt()

    def on_mount(self) -> None:
        self.query_one(Prompt).expect("Enter sends", None)

    @on(Prompt.Sent)
    def end(self, message: Prompt.Sent) -> None:
        self.exit(message.text)


if __name__ == "__main__":
    print("sent:", json.dumps(OnePrompt().run()))  # noqa: T201
