"""What can be done by name."""

from __future__ import annotations

from collections.abc import Callable

from tests.tui.driver import Chat, Driver
from tests.tui.scripted import step

Make = Callable[..., Chat]


def commands(see: Driver) -> dict[str, Callable[[], object]]:
    return {command.title: command.callback for command in see.chat.app.get_system_commands(see.chat.app.screen)}


async def test_what_textual_adds_is_left_out_where_it_leads_nowhere(make_chat: Make) -> None:
    """Bug: Maximize left nothing on the screen but the prompt, and no word of how to come back."""
    async with make_chat().run() as see:
        see.prompt.focus()
        await see.pilot.pause()
        named = commands(see)
        assert {"Theme", "Quit", "Help"} <= named.keys()
        assert not {"Maximize", "Minimize", "Keys"} & named.keys()
        see.screen.maximize(see.prompt)
        assert "Minimize" not in commands(see)


async def test_what_was_deleted_comes_back_by_name_too(make_chat: Make) -> None:
    async with make_chat().run() as see:
        await see.ask("one")
        await see.answer(step([], "1"))
        see.last.focus()
        await see.pilot.pause()
        await see.pilot.press("delete")
        await see.until(lambda: not see.transcript.turns, "the deletion")
        see.prompt.focus()
        await see.pilot.press("ctrl+p", *"undo")
        await see.until(lambda: "Bring back what was deleted last." in see.shown(), "the command")
        await see.pilot.pause()
        await see.pilot.press("enter")
        await see.until(lambda: len(see.transcript.turns) == 2, "what was deleted")


async def test_what_several_keys_do_is_named_once(make_chat: Make) -> None:
    async with make_chat().run() as see:
        await see.ask("one")
        await see.answer(step([], "1"))
        see.last.focus()
        await see.pilot.pause()
        titles = [command.title for command in see.chat.app.get_system_commands(see.chat.app.screen)]
        assert titles.count("Save") == titles.count("Back") == 1
