"""Tokens of the target's own look plain until something is drafted, whatever the settings are meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from specdesk.tokenview import Kind
from specdesk.tui.chat.state import State
from tests.tui.driver import Chat, Driver
from tests.tui.scripted import END, OPTIONS, prompt_read, step

Make = Callable[..., Chat]


def shown_text(see: Driver) -> str:
    return "".join(text for text, _ in see.painted()).strip()


@pytest.mark.parametrize("term", ["xterm-256color", "linux"])
async def test_a_kept_answer_looks_as_it_was_made(make_chat: Make, monkeypatch: pytest.MonkeyPatch, term: str) -> None:
    """Bug: with no draft set any more, an answer that had been drafted did not tell which tokens were the target's."""
    async with make_chat().run() as see:
        await see.ask("go")
        await see.answer(step(["aa"], " bb"), step([], " cc", index=1, first=2))
    monkeypatch.setenv("TERM", term)
    async with make_chat(options=replace(OPTIONS, lookahead=0)).run() as see:
        await see.pilot.press("ctrl+b", "ctrl+b", "enter")
        await see.until(lambda: len(see.transcript.turns) == 2, "the chat")
        await see.pilot.pause()
        if term == "linux":
            assert shown_text(see) == "aa +bb+ _cc_"
        else:
            assert ("cc", Kind.PLAIN) in [(text.strip(), kind) for text, kind in see.labels()]


@pytest.mark.parametrize("lookahead", [0, 4])
async def test_marks_are_for_what_has_to_be_told_apart(
    make_chat: Make, monkeypatch: pytest.MonkeyPatch, lookahead: int
) -> None:
    """Bug: where marks stand for styles, they stood around every token of an answer that nothing was drafted for."""
    monkeypatch.setenv("TERM", "linux")
    async with make_chat(options=replace(OPTIONS, lookahead=lookahead)).run() as see:
        await see.ask("go")
        see.engine.feed(prompt_read())
        await see.stream(step([], "aa"), step([], " bb", index=1, first=1))
        assert shown_text(see) == "aa bb"
        if lookahead:
            await see.stream(step(["cc"], " dd", index=2, first=2))
            assert shown_text(see) == "_aa_ _bb_cc +dd+"
        see.engine.feed(END)
        await see.until_state(State.READY)
        assert shown_text(see) == ("_aa_ _bb_cc +dd+" if lookahead else "aa bb")
