"""Themes and poor terminals: everything can be read, and nothing needs colour to be told apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import pytest
from rich.color import Color, ColorSystem
from rich.segment import Segment

from specdesk.paths import preferences_file
from specdesk.tokenview import Kind
from specdesk.tui.preferences.keeper import Keeper
from specdesk.tui.terminal.appearance import has_styles
from specdesk.tui.view import View
from tests.tui.driver import Chat, Driver
from tests.tui.scripted import step

Make = Callable[..., Chat]

_BLACK: Final = 0
_WHITE: Final = 7
_LOOKS: Final = ("bold", "underline", "strike", "dim", "reverse")
STEPS: Final = (
    step(["accepted"], " instead", rejected=[" refused"], ignored=[" behind"]),
    step([" stood"], " bonus", index=1, first=2),
    step([], " plain", index=2, first=4),
)


def cells(see: Driver) -> Iterator[Segment]:
    """What is painted, with whatever lies above the chat."""
    for strip in see.chat.app.screen._compositor.render_strips():
        yield from strip


def hidden(see: Driver, system: ColorSystem) -> list[tuple[str, str]]:
    """What is painted in the colour of its background, as far as the terminal can tell colours apart."""
    dark = see.chat.app.current_theme.dark
    found = []
    for text, style, _ in cells(see):
        if text.strip() and style is not None:
            ink = _seen(style.color, _WHITE if dark else _BLACK, system)
            paper = _seen(style.bgcolor, _BLACK if dark else _WHITE, system)
            if ink == paper:
                found.append((text, str(style)))
    return found


def _seen(colour: Color | None, default: int, system: ColorSystem) -> object:
    if colour is None or colour.is_default:
        return default
    shown = colour.downgrade(system)
    return shown.triplet or shown.number


async def tour(see: Driver, look: Callable[[str], None]) -> None:
    """Shows in turn every screen that is about one chat, and ends where it began."""
    places = {
        "chat": ((), ()),
        "chat, a turn chosen": (("shift+tab", "right"), ("escape",)),
        "chats": (("ctrl+f",), ("escape",)),
        "settings": (("ctrl+s", "end", "x"), ("escape",)),
        "presets": (("ctrl+s", "shift+tab", "shift+tab", "enter"), ("escape", "escape")),
        "help": (("f1",), ("escape",)),
        "palette": (("ctrl+p",), ("escape",)),
        "a comparison": (("f3",), ("escape", "escape")),
        "a file to write": (("f5",), ("escape",)),
        "a file to read": (("f8",), ("escape",)),
    }
    for place, (there, back) in places.items():
        await see.pilot.press(*there)
        await see.pilot.pause()
        look(place)
        await see.pilot.press(*back)
        await see.until(lambda: see.chat.app.screen is see.screen, "the chat")
        see.prompt.focus()
        await see.pilot.pause()


async def answered(see: Driver) -> None:
    await see.ask("Which is which?")
    await see.answer(*STEPS)


def system(see: Driver) -> ColorSystem:
    """The colours that a theme draws in: the terminal's own 16, or any."""
    return ColorSystem.STANDARD if see.chat.app.current_theme.ansi else ColorSystem.TRUECOLOR


@pytest.mark.parametrize("no_color", [False, True])
@pytest.mark.parametrize("theme", ["textual-dark", "textual-light", "ansi-dark", "ansi-light"])
async def test_nothing_is_painted_in_the_colour_of_its_background(
    make_chat: Make, monkeypatch: pytest.MonkeyPatch, theme: str, no_color: bool
) -> None:
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    chat = make_chat()
    async with chat.run() as see:
        chat.app.theme = theme
        await see.pilot.pause()
        await answered(see)
        found: list[object] = []
        await tour(see, lambda place: found.extend((place, *each) for each in hidden(see, system(see))))
        assert found == []


@pytest.mark.parametrize("no_color", [False, True])
@pytest.mark.parametrize("keys", [(), ("ctrl+s", "end", "x"), ("f1",)], ids=["chat", "settings", "help"])
async def test_nothing_is_in_any_theme(
    make_chat: Make, monkeypatch: pytest.MonkeyPatch, keys: Sequence[str], no_color: bool
) -> None:
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    chat = make_chat()
    async with chat.run() as see:
        await answered(see)
        await see.pilot.press(*keys)
        found: list[object] = []
        for theme in chat.app.available_themes:
            chat.app.theme = theme
            await see.pilot.pause()
            found.extend((theme, *each) for each in hidden(see, system(see)))
        assert found == []


async def test_256_colours_are_enough_for_the_chat_in_any_theme(make_chat: Make) -> None:
    chat = make_chat()
    async with chat.run() as see:
        await answered(see)
        found: list[object] = []
        for theme in chat.app.available_themes.values():
            if not theme.ansi:
                chat.app.theme = theme.name
                await see.pilot.pause()
                found.extend((theme.name, *each) for each in hidden(see, ColorSystem.EIGHT_BIT))
        assert found == []


POOR = {
    "linux": {"TERM": "linux", "COLORTERM": ""},
    "16": {"TERM": "xterm-16color", "COLORTERM": ""},
    "dumb": {"TERM": "dumb", "COLORTERM": ""},
    "linux without colour": {"TERM": "linux", "COLORTERM": "", "NO_COLOR": "1"},
    "light": {"TERM": "xterm-16color", "COLORTERM": "", "COLORFGBG": "0;15"},
}


@pytest.mark.parametrize("environ", POOR.values(), ids=POOR)
async def test_a_poor_terminal_keeps_its_own_colours(
    make_chat: Make, monkeypatch: pytest.MonkeyPatch, environ: dict[str, str]
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    Keeper.open().keep(lambda saved: saved.with_values({"theme": "nord"}))
    before = preferences_file().read_bytes()
    chat = make_chat()
    async with chat.run() as see:
        assert chat.app.theme == ("ansi-light" if "COLORFGBG" in environ else "ansi-dark")
        assert "“nord”" in see.shown()
        await answered(see)
        found: list[object] = []
        await tour(see, lambda place: found.extend((place, *each) for each in hidden(see, ColorSystem.STANDARD)))
        assert found == []
        if environ["TERM"] == "dumb" or "NO_COLOR" in environ:
            inks = {style.color for _, style, _ in cells(see) if style is not None}
            assert all(ink is None or ink.is_default for ink in inks)
    assert preferences_file().read_bytes() == before


def looks(see: Driver) -> dict[Kind, tuple[object, ...]]:
    """How the kinds of tokens look, colour left aside."""
    words = {
        "accepted": Kind.ACCEPTED,
        "instead": Kind.REPLACEMENT,
        "refused": Kind.REJECTED,
        "behind": Kind.IGNORED,
        "bonus": Kind.BONUS,
        "plain": Kind.PLAIN,
    }
    found: dict[Kind, tuple[object, ...]] = {}
    for text, style in see.painted():
        mark = text.strip()[:1].strip("asrbpi")  # what none of the words begins with
        kind = words.get(text.strip(f" {mark}"))
        if kind is not None:
            found[kind] = (mark, *(bool(getattr(style, look)) for look in _LOOKS))
    return found


@pytest.mark.parametrize("no_color", [False, True])
async def test_kinds_of_tokens_are_told_apart_without_colour(
    make_chat: Make, monkeypatch: pytest.MonkeyPatch, no_color: bool
) -> None:
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    chat = make_chat()
    async with chat.run() as see:
        await answered(see)
        assert len(set(looks(see).values())) == len(Kind)


@pytest.mark.parametrize("size", [(40, 24), (80, 24), (120, 24), (120, 40)])
async def test_a_legend_is_on_screen(make_chat: Make, size: tuple[int, int]) -> None:
    """Bug: on 24 rows the panel ended above its legend, and above what it told of a chosen token."""
    chat = make_chat()
    async with chat.run(size=size) as see:
        await answered(see)
        shown = see.shown()
        for kind in ("accepted", "replacement", "bonus", "rejected"):
            assert kind in shown
        assert "ignored" in shown or "drafted behind it" in shown
        await see.pilot.press("shift+tab", "left")
        await see.until(lambda: "‹ plain›" in see.shown(), "the token")


@pytest.mark.parametrize("term", ["dumb", "linux"])
async def test_kinds_of_tokens_are_told_apart_without_styles(
    make_chat: Make, monkeypatch: pytest.MonkeyPatch, term: str
) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("COLORTERM", "")
    chat = make_chat()
    for size in ((120, 40), (60, 24)):
        async with make_chat().run(size=size) as see:
            await answered(see)
            marks = {kind: look[0] for kind, look in looks(see).items()}
            assert len(set(marks.values())) == len(Kind)
            assert "=replacement=" in see.shown() or "=target's replacement=" in see.shown()
    async with chat.run(view=View.LIVE) as see:
        await see.ask("plainly")
        await see.stream(step(["a\n"], "\nb"))
        assert [text for text, _ in see.painted()] == ["a", "+b+"]


@pytest.mark.parametrize(
    ("term", "able"),
    [
        ("xterm-256color", True),
        ("", True),
        ("tmux-256color", True),
        ("dumb", False),
        ("linux", False),
        ("linux-16color", False),
        ("vt220", False),
        ("VT100", False),
        ("vte-256color", True),
    ],
)
def test_terminals_without_styles(term: str, able: bool) -> None:
    assert has_styles({"TERM": term}) is able


async def test_a_theme_is_chosen_by_its_command_and_saved(make_chat: Make) -> None:
    chat = make_chat()
    async with chat.run() as see:
        await see.pilot.press("ctrl+p", *"theme")
        await see.until(lambda: "Change the current theme" in see.shown(), "the command")
        await see.pilot.press("enter")
        await see.until(lambda: "Search for themes" in see.shown(), "the themes")
        await see.pilot.press(*"gruvbox")
        await see.until(lambda: see.shown().count("gruvbox") > 1, "the theme")
        await see.pilot.press("enter")
        await see.until(lambda: chat.app.theme == "gruvbox", "the change")
        await see.until(preferences_file().exists, "the file")
    assert Keeper.open().preferences.values == {"theme": "gruvbox"}
    again = make_chat()
    async with again.run() as see:
        assert again.app.theme == "gruvbox"


async def test_a_theme_that_is_not_there_is_said(make_chat: Make) -> None:
    Keeper.open().keep(lambda saved: saved.with_values({"theme": "grubox [/"}))
    chat = make_chat()
    async with chat.run() as see:
        assert chat.app.theme == "textual-dark"
        shown = " ".join(see.shown().split())
        assert "grubox [/" in shown
        assert "gruvbox" in shown
