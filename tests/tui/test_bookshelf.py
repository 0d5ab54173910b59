"""What the list of chats holds."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

import pytest
from textual.widgets import Input, OptionList

from specdesk.store.chat_store import ChatStore
from specdesk.tui.chat.bookshelf import _when
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


async def test_hits_of_one_title_are_told_apart_by_their_dates(make_chat: Make, store: ChatStore) -> None:
    """Bug: two chats of the same title, or two messages of one chat, looked the same."""
    for year in (2019, 2020):
        with ChatStore.open(pytest.fail, clock=partial(datetime, year, 3, 14, 12, tzinfo=UTC)) as earlier:
            earlier.create_chat("needle")
    store.create_chat("other")
    async with make_chat().run() as see:
        chats = see.screen.query_one(Chats)
        chats.query_one(Input).value = "needle"
        await see.until(lambda: chats.query_one(OptionList).option_count == 2, "what was found")
        await see.until(lambda: all(f"14 Mar {year}" in see.shown() for year in (2019, 2020)), "both dates")
        rows = [row[: chats.region.right] for row in see.shown().splitlines()]
        assert sum("needle" in row for row in rows) >= 4, "titles, and what was found in them"
