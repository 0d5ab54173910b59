"""Keys: every one there is, read from the bindings themselves, and bindings that several screens declare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from textual.app import App
from textual.binding import Binding
from textual.dom import DOMNode
from textual.screen import Screen

_OURS: Final = "specdesk."
_ELSEWHERE: Final = "elsewhere"
PLACES: Final = {
    "app": "Anywhere",
    "chat": "In the chat",
    "prompt": "While writing",
    "turn": "On a question or an answer (Shift+Tab goes there)",
    "chats": "In the list of chats",
    "compare": "In a comparison (A/B)",
    "picker": "Where models are chosen",
    "fetch": "Where models are downloaded",
    "settings": "In the settings",
    "entry": "Where a name is asked for",
    "file": "Where a file is asked for",
    "help": "In this help",
}
"""Where keys work, by what their ids begin with, in the order in which they are told."""

HELP: Final = Binding(
    "f1", "app.help", "Help", id="app.help", tooltip="Show all keys, what colours mean, where files are."
)
"""Modal screens see no keys of the app's: each that is to have it declares it, and one that wants it further ahead."""
MODELS: Final = Binding(
    "ctrl+o", "app.models", "Models", id="app.models", tooltip="Choose which models run, or download others."
)

_MOVES: Final = {
    "app.focus_next": "Go to the next part of the screen.",
    "app.focus_previous": "Go to the part before.",
}
"""Bindings of Textual's that have no words of their own."""
_NAMES: Final = {
    "escape": "Esc",
    "enter": "Enter",
    "pageup": "PageUp",
    "pagedown": "PageDown",
    "delete": "Delete",
    "up": "Up",
    "down": "Down",
    "left": "Left",
    "right": "Right",
}
"""Keys as the documents call them, where Textual's footer has signs or other words."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key, or several that do the same, and what for."""

    keys: str
    """As they are shown."""
    purpose: str


@dataclass(frozen=True, slots=True)
class Section:
    """The keys that work in one place."""

    place: str
    keys: tuple[Key, ...]


def sections(app: App[Any]) -> list[Section]:
    """The keys of everything of ours that takes keys, by where they work, and those of Textual that all can use.

    A place that is not known yet is called by what its ids begin with, at the end.
    """
    found: dict[str, list[Key]] = {place: [] for place in PLACES}
    for binding in (*bindings(), *_textuals(app)):
        keys = ", ".join(_once(_named(app, each) for each in Binding.make_bindings([binding])))
        place = (binding.id or _ELSEWHERE).partition(".")[0]
        found.setdefault(place, []).append(Key(keys, binding.tooltip or binding.description))
    # The same binding may be declared in several places.
    named = {place: tuple(dict.fromkeys(keys)) for place, keys in found.items() if keys}
    return [Section(PLACES.get(place, place.capitalize()), keys) for place, keys in named.items()]


def _once(names: Iterable[str]) -> Iterable[str]:
    """The first of those that are the same; a letter in both cases is one key."""
    found: dict[str, str] = {}
    for name in names:
        found.setdefault(name.casefold(), name)
    return found.values()


def _named(app: App[Any], binding: Binding) -> str:
    """A key as it is called in print: Ctrl+S."""
    *held, key = binding.key.split("+")
    plain = replace(binding, key=key)
    shown = app.get_key_display(plain)
    name = _NAMES.get(key) or (shown if len(shown) == 1 else shown.capitalize())
    return "+".join([*(each.capitalize() for each in held), name.upper() if held and len(name) == 1 else name])


def bindings() -> Iterator[Binding]:
    """The bindings that our own classes declare, each class in turn."""
    for kind in _kinds(DOMNode):
        if kind.__module__.startswith(_OURS):
            for binding in vars(kind).get("BINDINGS", ()):
                if isinstance(binding, Binding):
                    yield binding


def _textuals(app: App[Any]) -> Iterator[Binding]:
    yield Binding(app.COMMAND_PALETTE_BINDING, "", id="app.palette", tooltip="Everything by name, themes too.")
    for binding in Binding.make_bindings(Screen.BINDINGS):
        if binding.action in _MOVES:
            yield replace(binding, id="app.move", tooltip=_MOVES[binding.action])


def _kinds(kind: type[DOMNode]) -> Iterator[type[DOMNode]]:
    seen: dict[type[DOMNode], None] = {}
    waiting = [kind]
    while waiting:
        for other in waiting.pop().__subclasses__():
            if other not in seen:
                seen[other] = None
                waiting.append(other)
    yield from sorted(seen, key=lambda found: (found.__module__, found.__qualname__))
