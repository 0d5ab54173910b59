"""Copying, with tools of the test's own on a PATH of its own."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from specdesk.tui.terminal.clipboard import SAFE_BYTES, Clipboard, Copied

TEXT = "\tif x:\n        print('漢字 👍🏽 é')  # [red]trailing space \n\n\x1b[31m$(exit)\"'\\\n"
KEEP = '/bin/cat > "$0.got"; printf "%s\\n" "$@" > "$0.args"; printf "%s" "$LC_ALL" > "$0.locale"'
X11: dict[str, Any] = {"DISPLAY": ":99"}


class Desk:
    """A computer with the tools that a test puts there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sent: list[str] = []

    def put(self, name: str, script: str = KEEP) -> None:
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def got(self, name: str) -> bytes:
        return (self.folder / f"{name}.got").read_bytes()

    async def copy(self, environ: dict[str, str] | None = None, text: str = TEXT, *, limit_s: float = 30.0) -> Copied:
        seen = {**(environ or {}), "PATH": str(self.folder)}
        return await Clipboard(self.sent.append, environ=seen, limit_s=limit_s).copy(text)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    folder = tmp_path / "bin"
    folder.mkdir()
    return Desk(folder)


@pytest.mark.parametrize(
    ("tool", "environ"),
    [
        ("pbcopy", {}),
        ("wl-copy", {"WAYLAND_DISPLAY": "wayland-0"}),
        ("xclip", X11),
        ("xsel", X11),
        ("termux-clipboard-set", {}),
        ("tmux", {"TMUX": "/tmp/tmux,1,0"}),  # noqa: S108 — nothing is there
    ],
)
async def test_the_tool_gets_the_exact_bytes(desk: Desk, tool: str, environ: dict[str, Any]) -> None:
    desk.put(tool)
    copied = await desk.copy(environ)
    assert desk.got(tool) == TEXT.encode()
    assert desk.sent == []
    assert copied == Copied(tool, remote=False, n_bytes=len(TEXT.encode()), failures=())
    assert copied.certain
    assert copied.said("/save").startswith("copied into tmux" if tool == "tmux" else f"copied with {tool}")


async def test_windows_gets_its_own_encoding_and_macs_a_locale_of_utf8(desk: Desk) -> None:
    desk.put("clip.exe")
    await desk.copy({"WSL_DISTRO_NAME": "Ubuntu", **X11})
    assert desk.got("clip.exe").decode("utf-16-le") == TEXT
    desk.put("pbcopy")
    await desk.copy({"LC_ALL": "C"})
    assert (desk.folder / "pbcopy.locale").read_text() == "en_US.UTF-8"


async def test_the_tools_are_told_to_take_text_for_the_clipboard(desk: Desk) -> None:
    desk.put("xclip")
    desk.put("wl-copy")
    await desk.copy(X11)
    await desk.copy({"WAYLAND_DISPLAY": "wayland-0", **X11})
    assert (desk.folder / "xclip.args").read_text().split() == ["-selection", "clipboard", "-in"]
    assert (desk.folder / "wl-copy.args").read_text().split() == ["--type", "text/plain"]


async def test_a_tool_without_its_display_is_not_asked(desk: Desk) -> None:
    for tool in ("wl-copy", "xclip", "xsel", "clip.exe", "tmux"):
        desk.put(tool)
    assert (await desk.copy()).tool is None
    assert desk.sent == [TEXT]


async def test_a_failing_tool_is_named_and_the_next_one_tried(desk: Desk) -> None:
    desk.put("xclip", 'echo "Error: Can\'t open display: \x1b[31m:99" >&2; echo more >&2; exit 1')
    desk.put("xsel")
    copied = await desk.copy(X11)
    assert desk.got("xsel") == TEXT.encode()
    assert copied.said("/save") == "copied with xsel; xclip failed: Error: Can't open display: ␛[31m:99"
    desk.put("xsel", "exit 3")
    copied = await desk.copy(X11)
    assert desk.sent == [TEXT]
    assert not copied.certain
    assert copied.said("/save") == (
        "sent to the terminal (OSC 52); some terminals ignore it: if nothing can be pasted, /save; "
        "xclip failed: Error: Can't open display: ␛[31m:99; xsel failed: exit code 3"
    )


async def test_a_hanging_tool_is_ended_and_the_next_one_tried(desk: Desk) -> None:
    desk.put("xclip", '/bin/sleep 20 & echo $! > "$0.pid"; /bin/cat >/dev/null; wait')
    desk.put("xsel")
    copied = await desk.copy(X11, "x" * 1_000_000, limit_s=0.7)
    assert copied.said("/save") == "copied with xsel; xclip failed: no answer within 0.7 s"
    child = int((desk.folder / "xclip.pid").read_text())
    assert not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text().split()[2]


async def test_a_tool_that_stays_to_serve_the_clipboard_keeps_nobody_waiting(desk: Desk) -> None:
    desk.put("xclip", f'{KEEP}\n/bin/sleep 20 & echo $! > "$0.pid"')
    copied = await desk.copy(X11)
    server = int((desk.folder / "xclip.pid").read_text())
    assert copied.said("/save") == "copied with xclip"
    assert os.getsid(server) != os.getsid(0)
    os.kill(server, signal.SIGKILL)


async def test_a_file_that_is_no_program_is_a_failure(desk: Desk) -> None:
    desk.put("xclip")
    (desk.folder / "xclip").write_text("#!/nowhere/sh\n")
    assert (await desk.copy(X11)).failures == ("xclip failed: No such file or directory",)
    assert desk.sent == [TEXT]


async def test_on_a_remote_computer_the_terminal_gets_it_too(desk: Desk) -> None:
    desk.put("pbcopy")
    copied = await desk.copy({"SSH_CONNECTION": "1.2.3.4 5 6.7.8.9 22"})
    assert desk.got("pbcopy") == TEXT.encode()
    assert desk.sent == [TEXT]
    said = copied.said("/save")
    assert said.startswith("copied with pbcopy on the remote computer, sent to the terminal (OSC 52) too; some ")


async def test_tmux_is_asked_only_where_nothing_else_is(desk: Desk) -> None:
    desk.put("tmux")
    desk.put("xclip", "exit 1")
    copied = await desk.copy({"TMUX": "x", **X11})
    assert copied.tool is None
    (desk.folder / "xclip").unlink()
    copied = await desk.copy({"TMUX": "x", "SSH_CONNECTION": "x", **X11})
    assert copied.tool == "tmux"
    assert (desk.folder / "tmux.args").read_text().split() == ["load-buffer", "-w", "-"]
    assert desk.sent == [TEXT]


async def test_what_many_terminals_cannot_take_is_said(desk: Desk) -> None:
    small, big = await desk.copy(text="x" * SAFE_BYTES), await desk.copy(text="漢" * (SAFE_BYTES // 3 + 1))
    assert "ignore it" in small.said("/save")
    assert big.said("/save") == "sent to the terminal (OSC 52); 74 kB is more than many terminals take: /save is safer"
