"""The figures beside the answer."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from textual.widgets import Digits, Static

from specdesk.core.tally import Tally
from specdesk.tokenview import Kind
from specdesk.tui.figures import UNKNOWN
from specdesk.tui.pace import FIGURES_S
from specdesk.tui.widgets.header import shortened
from tests.tui.driver import Chat
from tests.tui.scripted import step

Make = Callable[..., Chat]


async def test_the_figures_are_those_of_the_tally(make_chat: Make) -> None:
    chat = make_chat()
    async with chat.run() as see:
        speedup = see.screen.query_one("#speedup", Digits)
        assert speedup.value == UNKNOWN
        await see.ask("go")
        steps = [
            step(["a", "b", "c"], "d", draft_s=0.02, target_s=0.06, step_s=0.1),
            step([], "e", target_s=0.05, step_s=0.055),
            step(["f"], "g", rejected=["x"], ignored=["y", "z"], draft_s=0.02, target_s=0.06, step_s=0.1),
        ]
        tally = Tally()
        for event in steps:
            tally.add(event)
        await see.stream(*steps)
        assert tally.speedup is None
        assert speedup.value == UNKNOWN
        assert "too little to judge" in see.shown()

        more = [step(["h", "i", "j"], "k", draft_s=0.02, target_s=0.06, step_s=0.1, index=3 + i) for i in range(3)]
        for event in more:
            tally.add(event)
        await see.stream(*more)
        await see.until(lambda: speedup.value == f"{tally.speedup:.2f}x", "new figures")
        shown = see.shown()
        assert f"{tally.tokens_per_s:.1f} tok/s" in shown
        assert f"plain {tally.plain_tokens_per_s:.1f}" in shown
        assert f"{tally.tokens_per_pass:.2f} tokens per pass" in shown
        assert f"accepted 13 of 14 ({tally.acceptance_rate:.0%})" in shown
        assert tally.accepted == 13
        assert f"draft {tally.draft_s / tally.decode_s:.0%}" in shown
        assert f"target {tally.target_s / tally.decode_s:.0%}" in shown
        assert "drafter: model" in shown
        painted = [kind for _, kind in see.labels()]
        assert painted.count(Kind.ACCEPTED) == tally.accepted


@pytest.mark.parametrize(
    ("accepted", "rejected", "said"), [(4, 0, "accepted 20 of 20 (100%)"), (0, 4, "accepted 0 of 20 (0%)")]
)
async def test_a_draft_that_is_always_right_or_never(make_chat: Make, accepted: int, rejected: int, said: str) -> None:
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("go")
        await see.answer(*(step(["a"] * accepted, "b", rejected=["x"] * rejected, index=i) for i in range(5)))
        assert said in see.shown()
        painted = [kind for text, kind in see.labels() for _ in text]
        assert painted.count(Kind.ACCEPTED) == 5 * accepted
        assert painted.count(Kind.REJECTED) == 5 * rejected
        assert painted.count(Kind.BONUS) + painted.count(Kind.REPLACEMENT) == 5


async def test_under_80_columns_the_panel_becomes_a_strip(make_chat: Make) -> None:
    chat = make_chat()
    async with chat.run(size=(60, 24)) as see:
        await see.ask("go")
        await see.answer(*(step(["a", "b", "c"], "d", index=i) for i in range(5)), step([], "e", step_s=0.06))
        tally = see.last.figures.tally
        assert f"{tally.speedup:.2f}x  {tally.tokens_per_s:.1f} tok/s" in see.shown()
        for kind in Kind:
            assert kind.value in see.shown()
        await see.pilot.resize_terminal(80, 24)
        await see.pilot.pause()
        assert not see.screen.query_one("SpeedStrip").display
        assert see.screen.query_one("SpeedPanel").display


@pytest.mark.parametrize(
    ("name", "beside", "short"),
    [
        ("Qwen2.5 Coder 0.5B Instruct", "Qwen2.5 Coder 1.5B Instruct", "0.5B"),
        ("Same", "Same", "Same"),
        ("Other 1B", "Qwen 2B", "Other 1B"),
    ],
)
def test_a_draft_is_named_by_what_sets_it_apart(name: str, beside: str, short: str) -> None:
    assert shortened(name, beside=beside) == short


async def test_figures_stand_for_a_while_and_the_last_are_shown_even_if_nothing_follows(make_chat: Make) -> None:
    chat = make_chat()
    async with chat.run() as see:
        panel = see.screen.query_one("#figures", Static)
        await see.ask("go")
        seen: set[str] = set()
        began = time.monotonic()
        for number in range(30):
            await see.stream(step(["a"], "b", index=number))
            seen.add(str(panel.content))
        took_s = time.monotonic() - began
        assert len(seen) <= took_s / FIGURES_S + 2
        await see.until(lambda: "accepted 30 of 30" in str(panel.content), "the last figures")
