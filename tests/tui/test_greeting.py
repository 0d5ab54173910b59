"""What is said before anything is asked."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from specdesk.errors import ModelError
from specdesk.tui.chat.state import State
from specdesk.tui.view import View
from tests.tui.driver import Chat, Driver

Make = Callable[..., Chat]
SAID = {
    View.LIVE: "Then it is Markdown. Ctrl+T shows its tokens again,",
    View.TOKENS: "Ctrl+T shows answers as Markdown,",
    View.MARKDOWN: "Answers are shown as Markdown. Ctrl+T shows their tokens,",
}


def greeting(see: Driver) -> str:
    return str(see.transcript._first_line.render())


@pytest.mark.parametrize("view", View)
async def test_it_tells_as_what_answers_are_shown_and_what_ctrl_t_does(make_chat: Make, view: View) -> None:
    """Bug: it promised Markdown of Ctrl+T, which shows the tokens of an answer that is complete."""
    async with make_chat(view=view).run(view=view) as see:
        assert SAID[view] in greeting(see)
        await see.pilot.press("ctrl+t")
        assert SAID[view] not in greeting(see)
        assert SAID[see.screen._showing.view] in greeting(see)


async def test_it_does_not_take_the_place_of_what_went_wrong(make_chat: Make) -> None:
    async with make_chat(load_error=ModelError("no model")).run(ready=False) as see:
        await see.until_state(State.BROKEN)
        await see.pilot.press("ctrl+t")
        assert "could not be loaded" in greeting(see)
