"""Characters that are wider than a column, or several to one: the whole chat keeps its columns (NEEDS T9, C2)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from specdesk.core.events import AnswerToken, Delta, DraftedToken, Finished, Outcome, Source, Step, StopReason
from specdesk.tui.chat.state import State
from specdesk.tui.view import View
from tests.tui.driver import Chat, Driver
from tests.tui.samples import CHARACTERS
from tests.tui.scripted import prompt_read, step

Make = Callable[..., Chat]

HALF = "\ufffd"
"""What a token says that is only half a character."""


def ink(see: Driver, part: str) -> str:
    """What stands in a part of the transcript, row ends and blanks left out."""
    widget = see.screen.query(part).last()
    inside = widget.content_region
    rows = see.shown_strips()[inside.y : inside.bottom]
    return "".join("".join(strip.crop(inside.x, inside.right).text.split()) for strip in rows)


@pytest.mark.parametrize("width", [40, 80])
async def test_no_border_is_moved_and_no_character_lost(make_chat: Make, width: int) -> None:
    """A token is a code point here: characters of several arrive in parts."""
    text = "\n\n".join(CHARACTERS)
    wanted = "".join(text.split())
    chat = make_chat()
    async with chat.run(size=(width, 100), view=View.TOKENS) as see:
        await see.ask(text)
        await see.answer(
            *(
                step([a], b, index=i, first=2 * i)
                for i, (a, b) in enumerate(zip(text[::2], text[1::2] + "\n", strict=False))
            )
        )
        for view in ("TokenView", "AnswerText"):
            await see.pilot.pause()
            assert ink(see, view) == wanted
            assert ink(see, "UserTurn .text") == wanted
            strips = see.shown_strips()
            assert {strip.cell_length for strip in strips} == {width}
            top = see.prompt.region.y
            frame = [strips[y].text for y in range(top, see.prompt.region.bottom)]
            assert all(row[0] + row[-1] in {"╭╮", "││", "╰╯"} for row in frame)
            await see.pilot.press("ctrl+t")


async def test_half_a_character_is_never_shown(make_chat: Make) -> None:
    """Bug: a rejected draft token that was half a character showed as U+FFFD."""
    halves = tuple(DraftedToken(0, HALF, 0.5, 0.5, fate) for fate in (Outcome.REJECTED, Outcome.IGNORED))
    begun = Step(
        0, 2, "", "model", "test", halves, (AnswerToken(1, HALF, Source.REPLACEMENT, 1.0, 0.0),), (), 0, 0.1, 0.1
    )
    ended = Step(1, 1, "", "model", "test", (DraftedToken(2, HALF, 0.5, 0.5, Outcome.ACCEPTED),),
        (AnswerToken(2, HALF, Source.ACCEPTED, 1.0, 0.0), AnswerToken(3, HALF, Source.BONUS, 1.0, 0.0)),
        (Delta("🦜", Source.ACCEPTED, 1),), 0, 0.1, 0.1)  # fmt: skip
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("go")
        see.engine.feed(prompt_read())
        await see.stream(begun)
        assert HALF not in see.shown()
        await see.stream(ended)
        assert "🦜" in see.shown()
        assert HALF not in see.shown()
        assert len(see.labels()) == 3, "the refused tokens are still told apart"
        see.engine.feed(Finished(StopReason.LENGTH, (Delta(HALF, Source.BONUS, 2),)))
        await see.until_state(State.READY)
        assert see.shown().count(HALF) == 1, "the model ended inside a character"
