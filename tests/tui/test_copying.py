"""Copying in a running program."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.app import ComposeResult

from specdesk.tui.terminal.copying import CopyingApp, TextCopied
from specdesk.tui.widgets.prompt import Prompt
from tests.tui.driver import wait_until


class Desk(CopyingApp[None]):
    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []

    def compose(self) -> ComposeResult:
        yield Prompt()

    def keep(self, message: object) -> None:
        if isinstance(message, TextCopied) and (said := message.copied.said("save it")) not in self.told:
            self.told.append(said)


@pytest.mark.parametrize("keys", [["f7", "ctrl+x"], ["f7", "ctrl+c"]])
async def test_the_keys_of_the_prompt_copy_with_the_tool_and_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: list[str]
) -> None:
    tool = tmp_path / "xclip"
    tool.write_text('#!/bin/sh\n/bin/cat > "$0.got"\n')
    tool.chmod(0o755)
    for variable in ("SSH_CONNECTION", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("DISPLAY", ":99")
    app = Desk()
    async with app.run_test(message_hook=app.keep) as pilot:
        prompt = app.query_one(Prompt)
        prompt.insert("漢字\n  [red]x\n")
        await pilot.press(*keys)
        await wait_until(pilot, lambda: bool(app.told), "the end of the copying")
        assert app.told == ["copied with xclip"]
        assert (tmp_path / "xclip.got").read_bytes() == "漢字\n  [red]x\n".encode()
        prompt.clear()
        await pilot.press("ctrl+v")
        assert prompt.text == "漢字\n  [red]x\n"


async def test_without_a_tool_nothing_is_called_copied(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    app = Desk()
    async with app.run_test(message_hook=app.keep) as pilot:
        app.copy_to_clipboard("x")
        app.copy_to_clipboard("y" * 80_000)
        await wait_until(pilot, lambda: len(app.told) == 2, "the end of the copying")
        assert all(said.startswith("sent to the terminal (OSC 52); ") for said in app.told)
        assert app.clipboard == "y" * 80_000
