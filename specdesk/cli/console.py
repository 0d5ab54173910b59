"""Standard output is the answer; everything else is said on standard error, here."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TextIO

from rich.console import Console

from specdesk.tokenview import visible


class ColorWhen(StrEnum):
    """The values of --color."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


def say(text: str) -> None:
    """One line for the user."""
    print(f"specdesk: {visible(text)}", file=sys.stderr, flush=True)  # noqa: T201


def stderr_console() -> Console:
    """A Rich console on standard error as it is now."""
    return Console(stderr=True, highlight=False)


def styled_console(stream: TextIO, when: ColorWhen) -> Console | None:
    """A console that styles `stream`, or None where plain text belongs: piped, a dumb terminal, or --color never.

    NO_COLOR takes the colours and leaves underline, bold and strike, which tell the tokens apart too.
    """
    if when is ColorWhen.NEVER:
        return None
    console = Console(
        file=stream,
        force_terminal=True if when is ColorWhen.ALWAYS else None,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=True,
    )
    return console if console.is_terminal and not console.is_dumb_terminal else None
