"""Copying: by a tool of the system that can tell whether it worked, else through the terminal, which cannot."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from specdesk.tokenview import visible

LIMIT_S: Final = 3.0
"""A tool that takes longer is ended."""

SAFE_BYTES: Final = 74_994
"""What OSC 52 carries in terminals that take sequences of 100,000 bytes; some take far less."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A command that puts what it reads into a clipboard."""

    command: tuple[str, ...]
    encoding: str = "utf-8"
    environ: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """How the user knows it."""
        return self.command[0]


PBCOPY: Final = Tool(("pbcopy",), environ=(("LC_ALL", "en_US.UTF-8"),))
"""pbcopy reads its input in the encoding of the locale."""
CLIP: Final = Tool(("clip.exe",), encoding="utf-16-le")
"""clip.exe takes 8-bit text to be in a code page of Windows."""
WL_COPY: Final = Tool(("wl-copy", "--type", "text/plain"))
"""Without a type it guesses one, and what looks like JSON cannot be pasted as text."""
XCLIP: Final = Tool(("xclip", "-selection", "clipboard", "-in"))
XSEL: Final = Tool(("xsel", "--clipboard", "--input"))
TERMUX: Final = Tool(("termux-clipboard-set",))
TMUX: Final = Tool(("tmux", "load-buffer", "-w", "-"))


@dataclass(frozen=True, slots=True)
class Copied:
    """How a text was copied."""

    tool: str | None
    """The tool that says it has it; None: it was only sent to the terminal."""
    remote: bool
    """The tool's clipboard may be another computer's than the user's, so the text went to the terminal too."""
    n_bytes: int
    failures: tuple[str, ...]
    """What was tried before, and why it did not do."""

    @property
    def certain(self) -> bool:
        """Whether something said that it worked."""
        return self.tool is not None

    def said(self, otherwise: str) -> str:
        """The result in a sentence; `otherwise` is what to do where it may not have worked, "/save"."""
        terminal = f"some terminals ignore it: if nothing can be pasted, {otherwise}"
        if self.n_bytes > SAFE_BYTES:
            terminal = f"{self.n_bytes // 1000} kB is more than many terminals take: {otherwise} is safer"
        match self.tool:
            case None:
                result = f"sent to the terminal (OSC 52); {terminal}"
            case "tmux":
                result = f"copied into tmux, which hands it to the terminal if it may; if not, {otherwise}"
            case _ if self.remote:
                result = (
                    f"copied with {self.tool} on the remote computer, sent to the terminal (OSC 52) too; {terminal}"
                )
            case _:
                result = f"copied with {self.tool}"
        return "; ".join([result, *self.failures])


class Clipboard:
    """Copies texts as they are, to the last byte.

    `send` passes a text to the terminal as OSC 52: App.copy_to_clipboard. A tool has `limit_s` for its work.
    """

    def __init__(
        self,
        send: Callable[[str], None],
        *,
        environ: Mapping[str, str] | None = None,
        limit_s: float = LIMIT_S,
    ) -> None:
        self._send = send
        self._environ = os.environ if environ is None else environ
        self._limit_s = limit_s
        self._turn = asyncio.Lock()

    async def copy(self, text: str) -> Copied:
        """Try tool after tool and in the end the terminal, for one text after the other; a thread does the waiting."""
        async with self._turn:
            return await self._copy(text)

    async def _copy(self, text: str) -> Copied:
        failures: list[str] = []
        remote = "SSH_CONNECTION" in self._environ
        used = None
        for tool in self._tools():
            failure = await asyncio.to_thread(run, tool, text, self._environ, self._limit_s)
            if failure is None:
                used = tool.name
                break
            failures.append(failure)
        if used is None or (remote and used != TMUX.name):
            self._send(text)
        return Copied(used, remote, len(text.encode("utf-8", "replace")), tuple(failures))

    def _tools(self) -> Iterator[Tool]:
        """The installed tools whose clipboard is there, the surest first; tmux where there is nothing else."""
        environ = self._environ
        found = [
            tool
            for there, tool in [
                (True, PBCOPY),
                ("WSL_DISTRO_NAME" in environ, CLIP),
                ("WAYLAND_DISPLAY" in environ, WL_COPY),
                ("DISPLAY" in environ, XCLIP),
                ("DISPLAY" in environ, XSEL),
                (True, TERMUX),
            ]
            if there and self._installed(tool)
        ]
        yield from found
        if not found and "TMUX" in environ and self._installed(TMUX):
            yield TMUX

    def _installed(self, tool: Tool) -> bool:
        return shutil.which(tool.name, path=self._environ.get("PATH", "")) is not None


def run(tool: Tool, text: str, environ: Mapping[str, str], limit_s: float) -> str | None:
    """Give `text` to `tool`; returns why that failed, None if it did not."""
    path = shutil.which(tool.name, path=environ.get("PATH", ""))
    if path is None:
        return f"{tool.name} failed: it is gone"
    # Tools that serve the clipboard stay behind with the pipes they were given: reading a pipe would wait for them.
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as complaints:
        source.write(text.encode(tool.encoding, "replace"))
        source.seek(0)
        try:
            process = subprocess.Popen(
                [path, *tool.command[1:]],
                stdin=source,
                stdout=subprocess.DEVNULL,
                stderr=complaints,
                env={**environ, **dict(tool.environ)},
                # The terminal's signals are not for it: what it serves outlives this program.
                start_new_session=True,
            )
        except OSError as error:
            return f"{tool.name} failed: {error.strerror}"
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return f"{tool.name} failed: no answer within {limit_s:g} s"
        if code == 0:
            return None
        complaints.seek(0)
        first = complaints.read(400).decode("utf-8", "replace").strip().partition("\n")[0]
        return f"{tool.name} failed: {visible(first) or f'exit code {code}'}"
