"""What the list of chats holds."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest
from textual.widgets import Input, OptionList

from specdesk.store.chat_store import ChatStore
from specdesk.tui.bookshelf import _when
from specdesk.tui.widgets.chats import Chats
from tests.tui.driver import Chat

Make = Callable[..., Chat]


@pytest.mark.parametrize(
    ("then", "said"),
    [
        (datetime(2026, 3, 7, 0, 5), "today 00:05"),
        (datetime(2026, 3, 6, 23, 59), "06 Mar"),
        (datetime(2026, 1, 7, 12), "07 Jan"),
        (datetime(2025, 3, 7, 12), "07 Mar 2025"),
    ],
)
def test_when_a_chat_was_used_is_said_as_far_as_it_matters(then: datetime, said: str) -> None:
    assert _when(then.astimezone(), datetime(2026, 3, 7, 23, 50).astimezone()) == said


async def test_a_search_lasts_while_chats_come_and_go(make_chat: Make, store: ChatStore) -> None:
    for title in ("needle one", "other", "needle two"):
        store.create_chat(title)
    async with make_chat().run() as see:
        chats = see.screen.query_one(Chats)
        listed = chats.query_one(OptionList)
        for query, n in (("needle", 2), ("  ", 3), ("needle", 2)):
            chats.query_one(Input).value = query
            await see.until(lambda n=n: listed.option_count == n, f"what holds “{query}”")  # type: ignore[misc]
        listed.focus()
        await see.pilot.press("delete")
        await see.until(lambda: listed.option_count == 1, "the other one that holds it")
        await see.pilot.press("u")
        await see.until(lambda: listed.option_count == 2, "both")
