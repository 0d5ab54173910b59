"""The help: every key there is, what the colours mean, where things are kept."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.binding import Binding

import specdesk.tui
from specdesk.paths import chats_file, home, preferences_file
from specdesk.tokenview import EXPLANATIONS, LEGEND, Kind
from specdesk.tui.keys import PLACES, bindings, sections
from specdesk.tui.screens.help import HelpScreen
from specdesk.tui.screens.settings import SettingsScreen
from tests.tui.driver import Chat, Driver
from tests.tui.scripted import step
from tests.tui.stage import burst

Make = Callable[..., Chat]


async def opened(see: Driver) -> HelpScreen:
    await see.pilot.press("f1")
    await see.until(lambda: isinstance(see.chat.app.screen, HelpScreen), "the help")
    await see.pilot.pause()
    screen = see.chat.app.screen
    assert isinstance(screen, HelpScreen)
    return screen


async def pages(see: Driver) -> str:
    """All that the help shows, page by page, without what lies around it."""
    page = (await opened(see)).query_one("#page")
    left, right = page.region.x, page.region.right
    seen: list[str] = []
    while True:
        seen += [line[left:right] for line in see.shown().splitlines()]
        if page.scroll_y >= page.max_scroll_y:
            return "\n".join(seen)
        page.scroll_relative(y=page.size.height - 6, animate=False)  # no entry is longer
        await see.pilot.pause()


def unwrapped(shown: str) -> str:
    """What stands between the borders, as one line."""
    return " ".join(shown.translate(dict.fromkeys(map(ord, "│▁▂▃▄▅▆▇█"), " ")).split())


def test_every_binding_has_an_id_of_its_place_and_words() -> None:
    for module in pkgutil.walk_packages(specdesk.tui.__path__, "specdesk.tui."):
        importlib.import_module(module.name)
    found = list(bindings())
    assert len(found) > 30
    for binding in found:
        assert binding.id is not None, binding
        assert binding.id.partition(".")[0] in PLACES, f"the help knows no place for {binding.id}"
        assert binding.tooltip, f"{binding.id} has no words for the help"
    ids = [binding.id for binding in set(found)]
    assert len(set(ids)) == len(ids)


def test_a_letter_does_the_same_with_shift_and_caps_lock() -> None:
    """Bug: O, S, U and Q did nothing where o, s, u and q did what the foot of the screen says."""
    for binding in bindings():
        keys = binding.key.split(",")
        for letter in (key for key in keys if len(key) == 1 and key.isalpha()):
            assert letter.swapcase() in keys, f"{binding.id} takes {letter} and not {letter.swapcase()}"


async def test_every_key_is_told_where_it_works(make_chat: Make) -> None:
    chat = make_chat()
    async with chat.run() as see:
        told = {section.place: section.keys for section in sections(chat.app)}
        shown = unwrapped(await pages(see))
        keys = [key for section in told.values() for key in section]
        assert len(keys) == len(set(bindings())) + 3  # Textual's own: the palette, and Tab both ways
        for place, section in told.items():
            assert place in shown
            for key in section:
                assert f"{key.keys} {key.purpose}" in shown
        assert ("Ctrl+S", "Set how answers are made; it is kept.") in [
            (key.keys, key.purpose) for key in told["In the chat"]
        ]


async def test_a_new_binding_is_told_without_more_ado(make_chat: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    chat = make_chat()
    async with chat.run() as see:
        declared = [*type(see.prompt).BINDINGS, Binding("f9", "fly", id="prompt.fly", tooltip="Take [off].")]
        monkeypatch.setattr(type(see.prompt), "BINDINGS", declared)
        shown = await pages(see)
        assert "Take [off]." in shown


async def test_a_new_place_is_told_too_and_words_of_the_footer_do_where_there_are_no_others(
    make_chat: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = make_chat()
    async with chat.run() as see:
        added = [Binding("f9", "fly", "Fly", id="hangar.fly"), Binding("f10,ctrl+underscore", "land", "Land")]
        monkeypatch.setattr(type(see.prompt), "BINDINGS", [*type(see.prompt).BINDINGS, *added])
        told = {section.place: [(key.keys, key.purpose) for key in section.keys] for section in sections(chat.app)}
        assert told["Hangar"] == [("F9", "Fly")]
        assert told["Elsewhere"] == [("F10, Ctrl+_", "Land")]


async def test_every_key_is_in_the_documents_called_as_here(make_chat: Make) -> None:
    """Bug: they promised every key, and had none of the comparison's and of where models are chosen."""
    documented = Path("docs/using.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| (.+?) \| (.+) \|$", documented, re.MULTILINE))
    chat = make_chat()
    async with chat.run():
        told = sections(chat.app)
    assert {section.place for section in told} <= set(PLACES.values())
    for section in told:
        there = rows.get(section.place, documented.partition("On other screens")[0])
        for key in section.keys:
            for name in key.keys.split(", "):
                named = rf"(?<![\w+]){re.escape(name)}(?!\w)"
                assert re.search(named, there, re.IGNORECASE), f"{section.place}: {name}: {key.purpose}"


@pytest.mark.parametrize("key", ["ctrl+s", "f3", "f5", "f8"])
async def test_it_opens_over_every_screen_and_leaves_it_as_it_was(make_chat: Make, key: str) -> None:
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("one")
        await see.answer(step([], "1"))
        await see.pilot.press(key)
        await see.until(lambda: chat.app.screen is not see.screen, "a screen")
        above = chat.app.screen
        await opened(see)
        await see.pilot.press("escape")
        await see.until(lambda: chat.app.screen is above, "the screen")


@pytest.mark.parametrize("name", ["Settings", "Help"])
async def test_the_palette_opens_settings_and_help(make_chat: Make, name: str) -> None:
    chat = make_chat()
    async with chat.run() as see:
        await see.pilot.press("ctrl+p", *name.lower())
        await see.until(lambda: f"{name}\n" in re.sub(" +", "\n", see.shown()), "the command")
        await see.pilot.pause()
        await see.pilot.press("enter")
        screen = {"Settings": SettingsScreen, "Help": HelpScreen}[name]
        await see.until(lambda: isinstance(chat.app.screen, screen), name)


@pytest.mark.parametrize("keys", [("ctrl+s", "ctrl+s"), ("ctrl+s", "f5", "f8"), ("f5", "f5"), ("f5", "f1")])
async def test_keys_that_are_pressed_at_once_open_one_screen(make_chat: Make, keys: tuple[str, ...]) -> None:
    """Bug: two forms lay one over the other, and the second one saved over what the first one had saved."""
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("one")
        await see.answer(step([], "1"))
        await burst(see.pilot, *keys)
        await see.until(lambda: chat.app.screen is not see.screen, "a screen")
        await see.pilot.pause()
        await see.pilot.press("escape")
        assert chat.app.screen is see.screen


@pytest.mark.parametrize("size", [(40, 24), (80, 24), (120, 40)])
async def test_it_tells_of_colours_and_files_and_closes(make_chat: Make, size: tuple[int, int]) -> None:
    chat = make_chat()
    async with chat.run(size=size) as see:
        shown = await pages(see)
        told = unwrapped(shown)
        for kind in Kind:
            assert f"{LEGEND[kind]} {EXPLANATIONS[kind]}" in told
        together = "".join(line.strip(" │▁▂▃▄▅▆▇") for line in shown.splitlines())
        for path in (home(), chats_file(), preferences_file()):
            assert str(path) in together
        assert all(len(line) == size[0] for line in see.shown().splitlines())
        await see.pilot.press("home")
        await see.until(lambda: "Anywhere" in see.shown(), "the beginning")
        await see.pilot.press("escape")
        await see.until(lambda: chat.app.screen is see.screen, "the chat")
        assert see.prompt.has_focus


async def test_the_keys_of_a_message_and_of_a_comparison_are_told_in_order_and_apart(make_chat: Make) -> None:
    """Bug: they came in the order of the modules they stood in, and 1 and 2 read the same."""
    chat = make_chat()
    async with chat.run():
        told = {section.place: section.keys for section in sections(chat.app)}
    keys = [key.keys for key in told[PLACES["turn"]]]
    assert keys == ["c", "s", "k", "e", "r", "g", "[", "]", "Left", "Right", "Delete", "u", "Esc, q"]
    purposes = {key.keys: key.purpose for key in told[PLACES["compare"]]}
    assert "plain" in purposes["1"]
    assert "speculative" in purposes["2"]
