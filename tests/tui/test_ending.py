"""Screens that end: by themselves under whatever lies on top, and once only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.command import CommandPalette
from textual.screen import Screen

import specdesk.tui
from specdesk.errors import StorageError
from specdesk.hub.here.chosen import of_pair, remembered
from specdesk.hub.manifest import Manifest
from specdesk.store.chat_store import ChatStore
from specdesk.tui.chat.state import State
from specdesk.tui.screens.ending import end
from specdesk.tui.screens.fetch import FetchScreen
from specdesk.tui.screens.file_entry import FileEntry
from specdesk.tui.screens.help import HelpScreen
from specdesk.tui.screens.picker import PickerScreen
from specdesk.tui.screens.text_entry import TextEntry
from specdesk.tui.widgets.model_list import ModelList
from specdesk.tui.widgets.prompt import Prompt
from tests.tui.driver import wait_until
from tests.tui.models import OTHER, SMALL, ModelsChat, ScriptedFetch, Seen


def is_ready(see: Seen) -> bool:
    return State.READY.value in str(see.chat.query_one(Prompt).border_subtitle)


@pytest.mark.parametrize("key", ["f1", "ctrl+p"])
async def test_a_download_ends_under_what_lies_on_top(store: ChatStore, key: str) -> None:
    """Bug: the end closed the help instead, and the download screen stayed for good."""
    fetch = ScriptedFetch()
    async with ModelsChat(store, pairs=(OTHER, SMALL), fetch=fetch).run() as see:
        await see.says("Enter downloads")
        await see.press("o")
        await see.says("Recommended pairs")
        await see.point_at("pair other")
        await see.press("enter")
        await see.says("The recommended pair other")
        await see.press("enter")
        await see.until(lambda: fetch.calls == 1, "the download")
        await see.press(key)
        over: type[Screen[Any]] = HelpScreen if key == "f1" else CommandPalette
        await see.until(lambda: isinstance(see.app.screen, over), "what lies on top")
        fetch.may_end.set()
        await see.until(lambda: is_ready(see), "the models of the pair")
        assert isinstance(see.app.screen, over), "what is read stays"
        assert not any(isinstance(screen, FetchScreen) for screen in see.app.screen_stack)
        await see.press("escape")
        await see.until_state(State.READY)
    assert remembered(Manifest(SMALL.name, (), (SMALL, OTHER))) == of_pair(OTHER)


@pytest.mark.parametrize("what", ["failed", "stopped"])
async def test_a_download_that_did_not_end_well_is_found_below_the_help(store: ChatStore, what: str) -> None:
    fetch = ScriptedFetch()
    fetch.error = None
    async with ModelsChat(store, fetch=fetch).run() as see:
        await see.says("Enter downloads")
        await see.press("enter")
        await see.until(lambda: fetch.calls == 1, "the download")
        if what == "stopped":
            await see.press("escape", "f1")
        else:
            await see.press("f1")
            fetch.error = StorageError("the disk is gone")
            fetch.may_end.set()
        await see.says("Anywhere")
        await see.press("escape")
        await see.says("Enter goes on" if what == "stopped" else "error: the disk is gone")


async def test_what_is_taken_is_taken_when_the_help_came_between(store: ChatStore) -> None:
    """Enter and F1 in one stroke: the help is there before the list hears of Enter."""
    async with ModelsChat(store, fetch=ScriptedFetch()).run() as see:
        await see.says("Enter downloads")
        await see.press("o")
        await see.says("Recommended pairs")
        picker = see.app.screen
        assert isinstance(picker, PickerScreen)
        see.app.action_help()
        await see.says("Anywhere")
        await see.until(lambda: picker.query_one(ModelList).pointed is not None, "an entry")
        picker.take_pointed()
        await see.until(lambda: any(isinstance(s, FetchScreen) for s in see.app.screen_stack), "the other offer")
        assert picker not in see.app.screen_stack


def _nothing(path: Path, over: bool) -> None: ...


SCREENS: dict[str, Callable[[], Screen[Any]]] = {
    "name": lambda: TextEntry("Title"),
    "file": lambda: FileEntry("File", "x.md", _nothing, str),
    "help": lambda: HelpScreen([], {}),
}


@pytest.mark.parametrize("name", SCREENS)
async def test_it_ends_once_and_takes_nothing_with_it(name: str) -> None:
    """Bug: a second Esc, pressed before the screen was gone, closed what lay below."""
    results: list[object] = []
    app: App[None] = App()
    async with app.run_test() as pilot:
        below = TextEntry("below")
        await app.push_screen(below)
        screen = SCREENS[name]()
        await app.push_screen(screen, results.append)
        end(screen, None)
        end(screen, None)
        await wait_until(pilot, lambda: not screen.is_attached, "its end")
        assert app.screen is below
    assert results == [None]


async def test_what_lies_over_it_stays_and_answers_too() -> None:
    results: list[object] = []
    app: App[None] = App()
    async with app.run_test() as pilot:
        lower, upper = TextEntry("lower"), TextEntry("upper")
        await app.push_screen(lower, results.append)
        await app.push_screen(upper, results.append)
        end(lower, "lower")
        await wait_until(pilot, lambda: not lower.is_attached, "its end")
        assert app.screen is upper
        await pilot.press(*"up", "enter")
        await wait_until(pilot, lambda: len(results) == 2, "the other answer")
    assert results == ["lower", "up"]


def test_screens_end_in_no_other_way() -> None:
    """Textual's own way closes whatever lies on top."""
    sources = Path(specdesk.tui.__file__).parent.rglob("*.py")
    assert [path.name for path in sources if ".dismiss(" in path.read_text(encoding="utf-8")] == ["ending.py"]
