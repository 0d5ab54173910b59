"""The list of chats while it changes under the user's hands: what is meant is what was pointed at."""

from __future__ import annotations

import pytest
from textual.widgets import OptionList

from specdesk.tui.widgets.chats import Chats, Entry
from tests.tui.stage import Stage

TIDES, CARTS, MOONS = (Entry(number, title) for number, title in ((1, "Tides"), (2, "Carts"), (3, "Moons")))


async def test_a_list_that_changes_after_the_key_opens_what_was_pointed_at() -> None:
    """Bug: it opened what came to stand in that line, or ended the program where none did."""
    chats = Chats()
    app = Stage(chats)
    async with app.run_test(message_hook=app.keep) as pilot:
        listed = chats.query_one(OptionList)
        for then in ([MOONS, TIDES, CARTS], [MOONS]):
            chats.show([TIDES, CARTS], None)
            listed.highlighted = 1
            listed.action_select()
            chats.show(then, None)
            await pilot.pause()
    assert [message.chat_id for message in app.of(Chats.Opened)] == [CARTS.chat_id] * 2


async def test_the_pointer_stays_on_the_message_that_was_found() -> None:
    chats = Chats()
    app = Stage(chats)
    found = [Entry(1, "Tides", message_id=number) for number in (4, 5, 6)]
    async with app.run_test(message_hook=app.keep) as pilot:
        chats.show(found, 1)
        chats.enter()
        await pilot.press("down", "down")
        chats.show(found[1:], 1)
        await pilot.press("enter")
    assert [message.message_id for message in app.of(Chats.Opened)] == [6]


async def test_the_pointer_stays_on_its_chat_while_the_user_is_in_the_list() -> None:
    """Bug: it went to the chat that is shown, and Delete meant that one."""
    chats = Chats()
    app = Stage(chats)
    async with app.run_test(message_hook=app.keep) as pilot:
        chats.show([TIDES, CARTS], TIDES.chat_id)
        chats.enter()
        await pilot.press("down")
        chats.show([MOONS, TIDES, Entry(CARTS.chat_id, "Carts, renamed")], TIDES.chat_id)
        await pilot.press("delete")
        chats.show([MOONS, TIDES], TIDES.chat_id)
        await pilot.press("delete")
    assert [message.chat_id for message in app.of(Chats.Deleted)] == [CARTS.chat_id, TIDES.chat_id]


@pytest.mark.parametrize("key", ["down", "enter"])
async def test_the_search_is_left_for_its_first_hit(key: str) -> None:
    """Bug: Down did nothing, and Enter went to the row that had been used before, or to the open chat."""
    chats = Chats()
    app = Stage(chats)
    async with app.run_test(message_hook=app.keep) as pilot:
        chats.show([TIDES, CARTS, MOONS], None)
        listed = chats.query_one(OptionList)
        listed.highlighted = 2
        chats.search()
        await pilot.press("s")
        chats.show([TIDES, CARTS, MOONS], MOONS.chat_id)
        await pilot.press(key)
        assert listed.has_focus
        assert listed.highlighted == 0
        await pilot.press("down", "enter")
    assert [message.chat_id for message in app.of(Chats.Opened)] == [CARTS.chat_id]


async def test_the_first_hit_is_meant_also_where_the_hits_come_after_the_key() -> None:
    chats = Chats()
    app = Stage(chats)
    async with app.run_test(message_hook=app.keep) as pilot:
        chats.show([TIDES, CARTS], CARTS.chat_id)
        chats.search()
        await pilot.press("s", "enter", "down")
        chats.show([MOONS, TIDES, CARTS], CARTS.chat_id)
        await pilot.press("enter")
    assert [message.chat_id for message in app.of(Chats.Opened)] == [MOONS.chat_id]


async def test_without_a_search_the_list_is_entered_where_it_points() -> None:
    chats = Chats()
    app = Stage(chats)
    async with app.run_test(message_hook=app.keep) as pilot:
        chats.show([TIDES, CARTS], CARTS.chat_id)
        chats.search()
        await pilot.press("down", "enter")
    assert [message.chat_id for message in app.of(Chats.Opened)] == [CARTS.chat_id]
