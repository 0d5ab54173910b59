"""How the chat looks on this terminal: a theme that it can show, and what becomes of colours that are not wanted."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from rich.console import Console
from textual.filter import LineFilter, Monochrome, NoColor
from textual.theme import BUILTIN_THEMES, Theme

_FEW: Final = (None, "standard", "windows")
"""What Rich calls 16 colours, and none."""
_LIGHT_ENDS: Final = (";7", ";15")
"""How COLORFGBG ends where the background is light."""
_BARE: Final = ("dumb", "unknown", "linux", "ansi", "cons25", "sun", "vt52", "vt100", "vt102", "vt220", "vt320")
"""Terminals, by TERM, that cannot strike or underline text, or do it with a colour."""


_DARK, _LIGHT = BUILTIN_THEMES["ansi-dark"], BUILTIN_THEMES["ansi-light"]

SIXTEEN_COLOURS: Final = (
    replace(
        _DARK,
        primary="ansi_bright_blue",
        variables={
            **_DARK.variables,
            "border-blurred": "ansi_bright_black",
            "footer-key-foreground": "ansi_bright_magenta",
            "scrollbar": "ansi_bright_blue",
            "scrollbar-hover": "ansi_bright_blue",
        },
    ),
    replace(_LIGHT, variables={**_LIGHT.variables, "border-blurred": "ansi_bright_black"}),
)
"""Textual's themes of the terminal's own colours, without those that cannot be seen there: dark blue on black, black on
black, white on white."""


def has_styles(environ: Mapping[str, str]) -> bool:
    """Whether text can be struck and underlined there.

    A list, since the terminfo of many terminals that strike text does not say so.
    """
    term = environ.get("TERM", "").lower()
    return term not in _BARE and not term.startswith(tuple(f"{name}-" for name in _BARE))


def shows_no_colour(console: Console) -> bool:
    """Whether the terminal says of itself that it has no colours."""
    return console.color_system is None


def fitting_theme(themes: Mapping[str, Theme], chosen: str | None, usual: str, console: Console) -> tuple[str, str]:
    """The name of the theme to take, and what is to be said about it: empty if it is the chosen one, or none was.

    Where a terminal shows 16 colours, those of other themes would fall together; there its own colours are taken.
    """
    wanted, said = chosen or usual, ""
    if wanted not in themes:
        near = "".join(difflib.get_close_matches(wanted, themes, n=1, cutoff=0.0))
        known = ", ".join(sorted(themes))
        said = f"“theme”: there is no theme “{wanted}”; the nearest is “{near}”; known are {known}"
        wanted = usual
    if console.color_system in _FEW and not themes[wanted].ansi:
        if chosen is not None and not said:
            said = f"this terminal shows few colours: it keeps its own, in place of the theme “{chosen}”"
        wanted = "ansi-light" if os.environ.get("COLORFGBG", "").endswith(_LIGHT_ENDS) else "ansi-dark"
    return wanted, said


class WithoutColour:
    """Takes the colours away under NO_COLOR.

    Textual decides once how to do it, for the theme that is there at the start: greys for colours, which for themes in
    the terminal's own colours can be black on black. This decides for the theme that is there now.
    """

    def __init__(self) -> None:
        # The same ones for ever: what is filtered is cached by them.
        self._greys, self._none = Monochrome(), NoColor()

    def instead_of(self, filters: Sequence[LineFilter], *, ansi: bool) -> list[LineFilter]:
        """The filters with the one that suits the theme in place of Textual's."""
        kept = [line_filter for line_filter in filters if not isinstance(line_filter, Monochrome | NoColor)]
        return [*kept, self._none if ansi else self._greys]
