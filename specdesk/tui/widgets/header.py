"""The line on top: which models run, with which settings, on what."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Static

from specdesk.engine.client import EngineInfo
from specdesk.tokenview import visible
from specdesk.tui.chat_options import ChatOptions

_BETWEEN: Final = 3
"""Columns between two things."""
_MARGINS: Final = 2
_WIDE: Final = 80
"""Columns from which all stands on one line; on fewer, the models have the first of two."""


@dataclass(frozen=True, slots=True)
class Heading:
    """What there is to say; what is empty is left out."""

    brand: str
    target: str
    draft: str
    temperature: str
    lookahead: str
    exact: str
    seed: str
    engine: str

    @property
    def models(self) -> str:
        """Target, and draft if there is one."""
        return f"{self.target} ⇐ {self.draft}" if self.draft else self.target

    @property
    def settings(self) -> str:
        """How answers are made."""
        return (" " * _BETWEEN).join(filter(None, (self.temperature, self.lookahead, self.exact, self.seed)))


class ChatHeader(Horizontal):
    """Names and settings on the left, the engine on the right. What matters least goes first where it does not fit."""

    def __init__(self) -> None:
        super().__init__()
        self._heading: Heading | None = None

    def compose(self) -> ComposeResult:
        """The name of the program; the rest comes with the engine."""
        yield Static("specdesk", id="brand", markup=False)
        yield Static(id="models", markup=False)
        yield Static(id="settings", markup=False)
        yield Static(id="engine", markup=False)

    def show(self, info: EngineInfo, options: ChatOptions) -> None:
        """Show what was loaded, and how it will be asked."""
        k = info.lookahead(options.answer_options(0))
        plain = "WITHOUT SPECULATION" if info.why_no_more(k) else "plain"
        self._heading = Heading(
            brand="specdesk",
            target=visible(info.target.name),
            draft="" if info.draft is None else visible(shortened(info.draft.name, beside=info.target.name)),
            temperature=f"T {options.sampling.applied_temperature:g}",
            lookahead=plain if k == 0 else "K auto" if options.lookahead is None else f"K {k}",
            exact="" if info.exact is None else "exact",
            seed=f"seed {'new each answer' if options.seed is None else options.seed}",
            engine=f"{info.native.full_name} {'GPU' if info.on_gpu else 'CPU'}",
        )
        self.add_class("-known")
        self._lay()

    def on_resize(self) -> None:
        """There is room for more, or less."""
        self._lay()

    def _lay(self) -> None:
        if self._heading is None:
            return
        width = self.app.size.width
        heading = fitted(self._heading, width - _MARGINS, one_line=width >= _WIDE)
        for name in ("brand", "models", "settings", "engine"):
            part = self.query_one(f"#{name}", Static)
            part.update(getattr(heading, name))
            part.display = bool(getattr(heading, name)) or name == "settings"  # which keeps the engine on the right


def fitted(heading: Heading, width: int, *, one_line: bool) -> Heading:
    """As much of it as there is room for, in whole words; what matters least is shortened or left out first."""
    *others, least = _shorter(heading if one_line else replace(heading, brand=""))
    return next((one for one in others if _fits(one, width, one_line=one_line)), least)


def _shorter(heading: Heading) -> Iterator[Heading]:
    """The heading, then less of it each time."""
    yield heading
    for left in (
        {"engine": heading.engine.removeprefix("llama.cpp ")},
        {"seed": "" if heading.seed.endswith("answer") else heading.seed},  # one that was chosen is of more interest
        {"brand": ""},
        {"engine": ""},
        {"seed": ""},
    ):
        heading = replace(heading, **left)
        yield heading
    for target in _fewer_words(heading.target):
        yield replace(heading, target=target)
    heading = replace(heading, target=next(iter(heading.target.split()), ""), temperature="")
    yield heading
    yield replace(heading, draft="")


def _fewer_words(name: str) -> Iterator[str]:
    """A name without its last word, without the last two, and so on; a hyphen or an underscore ends a word too."""
    ends = [found.start() for found in re.finditer(r"[ _-]", name)]
    for end in reversed(ends):
        yield f"{name[:end]}…"


def _fits(heading: Heading, width: int, *, one_line: bool) -> bool:
    if one_line:
        return _cells(heading.brand, heading.models, heading.settings, heading.engine) <= width
    return cell_len(heading.models) <= width and _cells(heading.settings, heading.engine) <= width


def _cells(*parts: str) -> int:
    told = [part for part in parts if part]
    return sum(map(cell_len, told)) + _BETWEEN * (len(told) - 1)


def shortened(name: str, *, beside: str) -> str:
    """`name` without the words that stand in `beside` too; whole if nothing would be left."""
    known = set(_words(beside))
    return " ".join(word for word in _words(name) if word not in known) or name


def _words(name: str) -> list[str]:
    """The words of a name, or of a file's name."""
    return re.split(r"[ -]+", name) if " " not in name else name.split()
