"""The settings screen: what is typed is checked, what is saved holds and is there again, and what is left is not."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Button, Input, Select, TextArea

from specdesk.core.names import DrafterName, RuleName
from specdesk.engine.client import Message
from specdesk.errors import ModelError
from specdesk.paths import preferences_file
from specdesk.settings import DEFAULT_N_CTX
from specdesk.tui.chat.state import State
from specdesk.tui.preferences.catalogue import DEFAULTS
from specdesk.tui.preferences.keeper import Keeper
from specdesk.tui.screens.settings import SettingsScreen
from specdesk.tui.setup import Setup
from specdesk.tui.view import View
from specdesk.tui.widgets.answer import AnswerTurn
from specdesk.tui.widgets.chats import Chats
from specdesk.tui.widgets.preset_bar import PresetBar
from specdesk.tui.widgets.setting_rows import SettingRow
from specdesk.tui.widgets.turns import Failure
from tests.tui.driver import Chat, Driver
from tests.tui.scripted import END, FILES, step

Make = Callable[..., Chat]
EVIL = "[red]x [/ [b + 1 [@click=app.quit]y[/]"


@pytest.fixture
def chat(make_chat: Make) -> Chat:
    """One whose command line says nothing, so that what was saved holds."""
    return make_chat(options=None)


async def opened(see: Driver) -> SettingsScreen:
    await see.pilot.press("ctrl+s")
    await see.until(lambda: isinstance(see.chat.app.screen, SettingsScreen), "the settings")
    await see.pilot.pause()
    screen = see.chat.app.screen
    assert isinstance(screen, SettingsScreen)
    return screen


@asynccontextmanager
async def settings_of(chat: Chat, size: tuple[int, int] = (120, 40)) -> AsyncIterator[tuple[Driver, SettingsScreen]]:
    """A chat with its settings open."""
    async with chat.run(size=size) as see:
        yield see, await opened(see)


def row(screen: SettingsScreen, key: str) -> SettingRow:
    return next(row for row in screen.query(SettingRow) if row.setting.key == key)


def preset(screen: SettingsScreen) -> str | None:
    """The preset that is shown as chosen."""
    selection: str | None = screen.query_one(PresetBar).query_one(Select).selection
    return selection


def says(see: Driver, text: str) -> bool:
    return text in see.shown()


async def typed(see: Driver, screen: SettingsScreen, key: str, text: str) -> None:
    """Types in the place of what stands there."""
    row(screen, key).enter()
    await see.pilot.pause()
    await see.pilot.press("home", "shift+end", "delete", *text)
    await see.pilot.pause()


async def closed(see: Driver, *keys: str) -> None:
    await see.pilot.press(*keys)
    await see.until(lambda: see.chat.app.screen is see.screen, "the chat")
    await see.pilot.pause()


async def chosen(see: Driver, screen: SettingsScreen, name: str) -> None:
    """Chooses a preset by keyboard."""
    screen.query_one(PresetBar).query_one(Select).focus()
    await see.pilot.press("enter", "home")
    for _ in range(1 + [preset.name for preset in screen._shelf.presets].index(name)):
        await see.pilot.press("down")
    await see.pilot.press("enter")
    await see.pilot.pause()


async def kept_as(see: Driver, screen: SettingsScreen, name: str) -> None:
    screen.query_one("#keep_as", Button).focus()
    await see.pilot.press("enter")
    await see.until(lambda: see.chat.app.screen is not screen, "the question")
    see.chat.app.screen.query_one(Input).value = name
    await see.pilot.press("enter")
    await see.until(lambda: see.chat.app.screen is screen, "the settings again")
    await see.pilot.pause()


def in_file() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(preferences_file().read_text())
    return found


async def test_what_is_saved_holds_for_the_next_answer_and_after_a_restart(chat: Chat, make_chat: Make) -> None:
    async with settings_of(chat) as (see, screen):
        for key, text in (("temperature", "0.3"), ("seed", "11"), ("lookahead", "off"), ("max_tokens", "5")):
            await typed(see, screen, key, text)
        await closed(see, "enter")
        assert "T 0.3" in see.shown()
        assert "seed 11" in see.shown()
        assert "plain" in see.shown()
        await see.ask("go")
        _, sent = see.engine.asked[-1]
        assert (sent.sampling.temperature, sent.seed, sent.lookahead, sent.max_tokens) == (0.3, 11, 0, 5)
        assert sent.repeatable
        await see.answer(step([], "x"))
    assert in_file() == {
        "version": 1,
        "temperature": 0.3,
        "seed": 11,
        "max_tokens": 5,
        "lookahead": 0,
        "presets": [],
    }
    again = make_chat(options=None)
    async with again.run() as see:
        assert "T 0.3" in see.shown()
        screen = await opened(see)
        assert row(screen, "seed").text == "11"
        assert row(screen, "lookahead").text == "off"
        await typed(see, screen, "seed", "")
        await closed(see, "ctrl+s")
        await see.ask("go")
        assert not see.engine.asked[-1][1].repeatable
    assert "seed" not in in_file()


async def test_escape_leaves_everything_as_it_was(chat: Chat) -> None:
    async with settings_of(chat) as (see, screen):
        await typed(see, screen, "temperature", "0.3")
        await closed(see, "escape")
        assert "T 0.8" in see.shown()
        screen = await opened(see)
        assert row(screen, "temperature").text == "0.8"
        await see.pilot.click("#leave")
        await see.until(lambda: see.chat.app.screen is see.screen, "the chat")
    assert not preferences_file().exists()


async def test_what_is_wrong_is_said_while_it_is_typed_and_not_saved(chat: Chat) -> None:
    async with settings_of(chat) as (see, screen):
        assert "0 is greedy" in see.shown()
        await typed(see, screen, "top_p", "1.5")
        assert "! top-p must be above 0 and at most 1, not 1.5" in see.shown()
        assert "! Top-p" in see.shown()
        row(screen, "seed").enter()
        await see.pilot.pause()
        assert "Empty: a new one for each" in see.shown()
        await see.pilot.press("enter")
        await see.pilot.pause()
        assert chat.app.screen is screen
        assert row(screen, "top_p").query_one(Input).has_focus
        assert "not 1.5" in see.shown()
        await typed(see, screen, "top_p", "0.5")
        assert "!" not in see.shown()
        await closed(see, "enter")
    assert in_file()["top_p"] == 0.5


async def test_presets_fill_the_fields(chat: Chat) -> None:
    async with settings_of(chat) as (see, screen):
        assert preset(screen) == "Balanced"
        await chosen(see, screen, "Creative")
        assert (row(screen, "temperature").text, row(screen, "top_k").text) == ("1.1", "0")
        await typed(see, screen, "temperature", "1.3")
        assert preset(screen) is None
        await typed(see, screen, "temperature", "1.1")
        assert preset(screen) == "Creative"
        await chosen(see, screen, "Greedy (T 0)")
        assert row(screen, "top_k").text == "40"
        await closed(see, "ctrl+s")
        await see.ask("go")
        assert see.engine.asked[-1][1].sampling.temperature == 0
    assert in_file() == {"version": 1, "temperature": 0.0, "presets": []}


async def test_own_presets_are_kept_at_once_and_there_after_a_restart(chat: Chat, make_chat: Make) -> None:
    async with settings_of(chat) as (see, screen):
        await typed(see, screen, "temperature", "0.4")
        row(screen, "system").query_one(TextArea).text = f"{EVIL}\nsecond line"
        await see.pilot.pause()
        await kept_as(see, screen, f" {EVIL} ")
        await see.until(partial(says, see, "kept as “[red]x [/ [b + 1"), "the toast")
        assert preset(screen) == EVIL
        await closed(see, "escape")
        assert "T 0.8" in see.shown()
    assert [preset["name"] for preset in in_file()["presets"]] == [EVIL]
    again = make_chat(options=None)
    async with settings_of(again) as (see, screen):
        await chosen(see, screen, EVIL)
        assert row(screen, "temperature").text == "0.4"
        assert row(screen, "system").text == f"{EVIL}\nsecond line"
        await closed(see, "ctrl+s")
        await see.ask("go")
        assert see.engine.asked[-1][0][0] == Message("system", f"{EVIL}\nsecond line")
        await see.answer(step([], "x"))
        screen = await opened(see)
        await see.pilot.click("#delete")
        await see.pilot.pause()
        await see.until(partial(says, see, "deleted “[red]x [/ [b + 1"), "the toast")
        assert row(screen, "temperature").text == "0.4"
        assert not screen.query_one("#delete").display
    assert in_file()["presets"] == []
    assert in_file()["temperature"] == 0.4


@pytest.mark.parametrize("name", ["", "balanced", "x" * 61])
async def test_a_name_that_cannot_be_is_refused(chat: Chat, name: str) -> None:
    async with settings_of(chat) as (see, screen):
        await kept_as(see, screen, name)
        assert "1 to 60" in see.shown() or "comes with specdesk" in see.shown()
        await typed(see, screen, "temperature", "x")
        screen.query_one("#keep_as", Button).press()
        await see.pilot.pause()
        assert chat.app.screen is screen
        assert "must be a number, not 'x'" in see.shown()
    assert not preferences_file().exists()


async def test_defaults_are_filled_in_and_saved_over_what_the_command_line_says(make_chat: Make) -> None:
    first = make_chat(options=None)
    async with settings_of(first) as (see, screen):
        await typed(see, screen, "temperature", "0.3")
        await closed(see, "enter")
    chat = make_chat()  # with options of its own
    async with chat.run() as see:
        assert "T 0.7" in see.shown()
        screen = await opened(see)
        assert "Given on the command line, for this run; saved is 0.3." in see.shown()
        assert "* from the command line" in see.shown()
        assert "Temperature *" in see.shown()
        assert "Seed *" in see.shown()
        await see.pilot.press("ctrl+r")
        await see.pilot.pause()
        assert "Temperature *" not in see.shown()
        assert {row.setting.key: row.value for row in screen.query(SettingRow)}.items() <= DEFAULTS.items()
        await closed(see, "ctrl+s")
        assert "T 0.8" in see.shown()
    assert in_file() == {"version": 1, "presets": []}


async def test_what_the_command_line_says_is_not_saved_with_the_rest(make_chat: Make) -> None:
    chat = make_chat()
    async with settings_of(chat) as (see, screen):
        assert "Top-k *" in see.shown()
        await typed(see, screen, "top_k", "7")
        assert "Top-k *" not in see.shown()
        assert "Given on the command line" not in see.shown()
        await closed(see, "enter")
        await see.ask("go")
        sampling = see.engine.asked[-1][1].sampling
        assert (sampling.temperature, sampling.top_k) == (0.7, 7)
    assert in_file() == {"version": 1, "top_k": 7, "presets": []}


async def test_words_are_chosen_with_the_keyboard(chat: Chat) -> None:
    async with settings_of(chat) as (see, screen):
        for key in ("drafter", "verify"):
            row(screen, key).enter()
            await see.pilot.press("enter", "end", "enter")
            await see.pilot.pause()
        await closed(see, "ctrl+s")
        await see.until_state(State.READY)
        await see.ask("go")
        sent = see.engine.asked[-1][1]
        assert (sent.drafter, sent.verify) == (DrafterName.SUFFIX, RuleName.COUPLED)
    assert (in_file()["drafter"], in_file()["verify"]) == ("suffix", "coupled")


async def test_exact_mode_and_context_load_the_models_again(chat: Chat, make_chat: Make) -> None:
    async with settings_of(chat) as (see, screen):
        assert "a change loads them again" in see.shown()
        await typed(see, screen, "ctx", "512")
        row(screen, "exact").enter()
        await see.pilot.press("enter", "end", "enter")
        await closed(see, "ctrl+s")
        await see.until(lambda: len(chat.loaded_with) == 2, "another load")
        await see.until_state(State.READY)
        assert (chat.loaded_with[-1].n_ctx, chat.loaded_with[-1].exact) == (512, True)
        await see.ask("go")
        assert see.engine.asked[-1][1].verify is RuleName.COUPLED
        await see.answer(step([], "x"))
        screen = await opened(see)
        await typed(see, screen, "temperature", "0.1")
        await closed(see, "enter")
        assert len(chat.loaded_with) == 2
    again = make_chat(options=None)
    async with again.run():
        assert (again.loaded_with[0].n_ctx, again.loaded_with[0].exact) == (512, True)


def test_other_models_are_loaded_as_the_settings_say() -> None:
    setup = Setup(Keeper.open(), FILES, given={"temperature": 0.5})
    setup.change({"ctx": 512, "exact": True})
    assert setup.engine_for(Path("other.gguf"), None).n_ctx == DEFAULT_N_CTX
    setup.order()
    assert not setup.must_load
    other = setup.engine_for(Path("other.gguf"), None)
    assert (other.target, other.draft, other.n_ctx, other.exact) == (Path("other.gguf"), None, 512, True)


async def test_a_draft_that_was_left_out_is_loaded_when_it_is_wanted(make_chat: Make) -> None:
    first = make_chat(options=None)
    async with settings_of(first) as (see, screen):
        await typed(see, screen, "lookahead", "off")
        await closed(see, "enter")
        assert len(first.loaded_with) == 1
    chat = make_chat(options=None)
    async with chat.run() as see:
        assert not chat.loaded_with[0].speculate
        screen = await opened(see)
        await typed(see, screen, "lookahead", "auto")
        await closed(see, "enter")
        await see.until(lambda: len(chat.loaded_with) == 2, "another load")
        assert chat.loaded_with[1].speculate
        await see.until_state(State.READY)


async def test_an_answer_under_way_is_let_finish_before_the_models_are_loaded_again(chat: Chat) -> None:
    async with chat.run() as see:
        await see.ask("go")
        await see.stream(step(["a"], "b"))
        screen = await opened(see)
        await typed(see, screen, "ctx", "512")
        await typed(see, screen, "temperature", "0.1")
        await closed(see, "enter")
        assert len(chat.loaded_with) == 1
        await see.stream(step(["c"], "d", index=1, first=2))
        assert see.last.text == "abcd"
        see.engine.feed(END)
        await see.until(lambda: len(chat.loaded_with) == 2, "another load")
        await see.until_state(State.READY)
        assert see.last.text == "abcd"
        await see.ask("next")
        assert see.engine.asked[-1][1].sampling.temperature == 0.1


async def test_models_that_do_not_load_as_wanted_can_be_wanted_otherwise(make_chat: Make) -> None:
    error = ModelError("no memory for a context of 4194304", "lower it")
    chat = make_chat(options=None, load_error=error)
    async with chat.run(ready=False) as see:
        await see.until_state(State.BROKEN)
        screen = await opened(see)
        await typed(see, screen, "ctx", "512")
        await closed(see, "enter")
        await see.until_state(State.READY)
        assert [settings.n_ctx for settings in chat.loaded_with] == [4096, 512]


async def test_views_and_lists_are_remembered(chat: Chat, make_chat: Make) -> None:
    async with chat.run(view=View.LIVE) as see:
        await see.ask("go")
        await see.answer(step(["a"], "b", rejected=["no"]))
        await see.pilot.press("ctrl+g", "ctrl+b")
        await see.pilot.pause()
        assert not see.screen.query_one(Chats).display
        screen = await opened(see)
        row(screen, "view").enter()
        await see.pilot.press("enter", "down", "enter")
        await closed(see, "ctrl+s")
        assert see.screen._showing.view is View.TOKENS
    assert in_file() == {
        "version": 1,
        "view": "tokens",
        "show_rejected": False,
        "show_chats": False,
        "presets": [],
    }
    again = make_chat(options=None)
    async with again.app.run_test(size=(120, 40)) as pilot:
        see = Driver(again, pilot)
        await see.until_state(State.READY)
        assert see.screen._showing.view is View.TOKENS
        assert not see.screen.query_one(Chats).display
        await see.ask("go")
        await see.answer(step(["a"], "b", rejected=["no"]))
        assert "".join(text for text, _ in see.painted()) == "ab"
        screen = await opened(see)
        row(screen, "view").enter()
        await see.pilot.press("enter", "end", "enter")
        await closed(see, "ctrl+s")
        assert not see.screen.query_one(AnswerTurn).shows_tokens
    assert in_file()["view"] == "markdown"


async def test_a_list_that_would_hide_the_conversation_is_not_remembered(chat: Chat) -> None:
    async with chat.run(size=(60, 24)) as see:
        await see.pilot.press("ctrl+b")
        await see.pilot.pause()
    assert not preferences_file().exists()


@pytest.mark.parametrize("keys", [("ctrl+b",), ("ctrl+b", "escape"), ("ctrl+b", "ctrl+b")])
async def test_what_is_chosen_without_room_does_not_hold_where_there_is(chat: Chat, keys: tuple[str, ...]) -> None:
    """Bug: a list that was folded on 40 columns stayed so when the terminal became wide."""
    async with chat.run(size=(40, 24)) as see:
        await see.pilot.press(*keys)
        see.prompt.focus()
        await see.pilot.resize_terminal(120, 40)
        await see.until(lambda: see.screen.query_one(Chats).display, "the list")
        await see.pilot.resize_terminal(90, 24)
        await see.until(lambda: not see.screen.query_one(Chats).display, "no list")
        await see.pilot.resize_terminal(40, 24)
        await see.pilot.pause()
        assert not see.screen.query_one(Chats).display
    assert not preferences_file().exists()


async def test_closing_what_was_opened_between_leaves_it_to_the_room_there_is(make_chat: Make) -> None:
    """Bug: the list that was opened and closed on 90 columns was folded on 120 from then on."""
    async with make_chat(options=None).run(size=(90, 24)) as see:
        await see.pilot.press("ctrl+b", "ctrl+b")
        await see.pilot.pause()
        assert not see.screen.query_one(Chats).display
    async with make_chat(options=None).run(size=(120, 40)) as see:
        assert see.screen.query_one(Chats).display


async def test_it_does_not_hide_the_conversation_on_a_narrow_terminal_either(make_chat: Make) -> None:
    first = make_chat(options=None)
    async with first.run(size=(90, 24)) as see:
        await see.pilot.press("ctrl+b")
        await see.pilot.pause()
    assert in_file()["show_chats"] is True
    for width, shown in ((60, False), (90, True)):
        async with make_chat(options=None).run(size=(width, 24)) as see:
            assert see.screen.query_one(Chats).display is shown
            assert see.transcript.region.width > 0


ODD = "漢字 \U0001f469\u200d\U0001f680 e\u0301\U0001f1e9\U0001f1ea [/"


@pytest.mark.parametrize("size", [(40, 24), (80, 24)])
async def test_wide_and_joined_characters_stay_within_their_borders(chat: Chat, size: tuple[int, int]) -> None:
    async with settings_of(chat, size=size) as (see, screen):
        row(screen, "system").query_one(TextArea).text = ODD * 9
        row(screen, "system").enter()
        await kept_as(see, screen, ODD)
        assert preset(screen) == ODD
        await see.until(partial(says, see, "漢字"), "the preset")
        chat.app.clear_notifications()
        await see.until(lambda: not screen.query("Toast"), "nothing above the dialog")
        await see.pilot.pause()
        dialog = screen.query_one("#dialog").region
        for y, strip in enumerate(screen._compositor.render_strips()):
            assert strip.cell_length == size[0]
            if dialog.y < y < dialog.bottom - 1:
                assert strip.crop(dialog.x, dialog.x + 1).text == "│"
                assert strip.crop(dialog.right - 1, dialog.right).text == "│"


@pytest.mark.parametrize("text", ['{"temprature": 1}', "{"])
async def test_a_damaged_file_is_told_set_aside_and_saved_anew(make_chat: Make, text: str) -> None:
    path = preferences_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    chat = make_chat(options=None)
    async with chat.run() as see:
        shown = " ".join(see.shown().split())
        assert "set aside as preferences.json.damaged" in shown
        assert "T 0.8" in shown
        screen = await opened(see)
        await typed(see, screen, "temperature", "0.3")
        await closed(see, "ctrl+s")
        assert len(see.screen.query(Failure)) == 1
    assert in_file()["temperature"] == 0.3
    assert path.with_name(f"{path.name}.damaged").read_text() == text
    async with make_chat(options=None).run() as see:
        assert "damaged" not in see.shown()


async def test_a_file_of_a_newer_one_is_told_once_and_stays(make_chat: Make) -> None:
    text = '{"version": 2}'
    preferences_file().parent.mkdir(parents=True, exist_ok=True)
    preferences_file().write_text(text)
    chat = make_chat(options=None)
    async with chat.run() as see:
        await see.until(lambda: "defaults hold" in see.shown(), "what became of it")
        assert "T 0.8" in see.shown()
        await see.pilot.press("ctrl+g", "ctrl+b", "ctrl+g")
        await see.pilot.pause()
        assert "preferences.json" in str(see.screen.query_one(Failure).content)
        screen = await opened(see)
        await typed(see, screen, "temperature", "0.3")
        await kept_as(see, screen, "mine")
        await see.until(partial(says, see, "for this run only"), "the toast")
        assert preset(screen) == "mine"
        await closed(see, "ctrl+s")
        assert len(see.screen.query(Failure)) == 2
        assert "T 0.3" in see.shown()
        chat.app.theme = "nord"
        await see.pilot.pause()
    assert preferences_file().read_text() == text


async def test_a_directory_that_cannot_be_written_is_said_and_the_chat_goes_on(
    chat: Chat, read_only: Callable[[], None]
) -> None:
    async with chat.run() as see:
        read_only()
        screen = await opened(see)
        await typed(see, screen, "temperature", "0.3")
        await closed(see, "enter")
        assert "cannot write" in see.shown()
        assert "holds for this run" in see.shown()
        assert "T 0.3" in see.shown()
        await see.pilot.press("ctrl+g")
        await see.pilot.pause()
        assert len(see.screen.query(Failure)) == 2
        await see.ask("go")
        assert see.engine.asked[-1][1].sampling.temperature == 0.3


@pytest.mark.parametrize("size", [(40, 24), (80, 24), (120, 40)])
async def test_every_field_can_be_reached_and_read_at_any_width(chat: Chat, size: tuple[int, int]) -> None:
    async with settings_of(chat, size=size) as (see, screen):
        rows: Sequence[SettingRow] = list(screen.query(SettingRow))
        for field in rows:
            assert field.has_class("-chosen")
            await see.until(partial(says, see, field.setting.label), field.setting.label)
            await see.pilot.press("tab")
            await see.pilot.pause()
        for button in ("save", "reset", "leave"):
            assert screen.query_one(f"#{button}").has_focus
            assert screen.region.contains_region(screen.query_one(f"#{button}").region)
            await see.pilot.press("tab")
        assert all(len(line) == size[0] for line in see.shown().splitlines())
        await see.pilot.press("shift+tab", "enter")
        await see.until(lambda: chat.app.screen is see.screen, "the chat")


async def test_the_mouse_saves_too(chat: Chat) -> None:
    async with settings_of(chat) as (see, screen):
        await typed(see, screen, "seed", "5")
        await see.pilot.click("#save")
        await see.until(lambda: chat.app.screen is see.screen, "the chat")
        assert "seed 5" in see.shown()


@pytest.mark.parametrize("size", [(80, 24), (120, 60)])
async def test_arrows_go_from_field_to_field_over_closed_lists(chat: Chat, size: tuple[int, int]) -> None:
    """Bug: they opened each list that they came to, and where the form did not fit they scrolled it instead."""
    async with settings_of(chat, size) as (see, screen):
        screen.query_one(TextArea).load_text("one\ntwo")
        fields = screen.focus_chain
        text = next(n for n, field in enumerate(fields) if isinstance(field, TextArea))
        fields.insert(text, fields[text])  # for each of its rows
        fields[0].focus()
        for field in fields[1:]:
            await see.pilot.press("down")
            assert screen.focused is field
        for field in reversed(fields[:-1]):
            await see.pilot.press("up")
            assert screen.focused is field


@pytest.mark.parametrize("key", ["enter", "space"])
async def test_a_list_opens_at_enter_and_space_and_is_gone_through_with_arrows(chat: Chat, key: str) -> None:
    async with settings_of(chat) as (see, screen):
        row(screen, "drafter").enter()
        await see.pilot.pause()
        before = row(screen, "drafter").value
        await see.pilot.press(key)
        assert row(screen, "drafter").query_one(Select).expanded
        await see.pilot.press("up", "enter")
        await see.pilot.pause()
        assert row(screen, "drafter").value != before
