"""A user who does everything at once: one thread owns the engine, answers never overlap, nothing hangs."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from specdesk.errors import GenerationError
from specdesk.store.chat_store import ChatStore
from specdesk.store.values import State as Kept
from specdesk.tui.chat.state import State
from specdesk.tui.widgets.prompt import Prompt
from tests.tui.driver import Chat
from tests.tui.models import OTHER, SMALL, ModelsChat, put
from tests.tui.scripted import END, prompt_read, step

Make = Callable[..., Chat]

KEYS = (
    *("escape", "ctrl+r", "ctrl+n", "ctrl+t", "ctrl+g", "ctrl+b", "ctrl+f", "f4", "ctrl+c", "enter", "up", "down"),
    *("shift+tab", "tab", "e", "r", "g", "c", "k", "left_square_bracket", "right_square_bracket", "left", "right"),
    *("delete", "u", "pageup", "pagedown", "f1", "f3", "f5", "f8", "ctrl+s", "ctrl+o", "s"),
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chance writes files, too, under whatever name."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("seed", range(3))
async def test_keys_in_any_order(make_chat: Make, store: ChatStore, seed: int) -> None:
    rng = random.Random(seed)
    chat = make_chat()
    async with chat.run(size=(130, 40)) as see:
        for number in range(120):
            if not chat.app.is_running:
                break
            match rng.randrange(6):
                case 0:
                    see.prompt.focus()
                    see.prompt.insert(f"question {number}")
                    await see.pilot.press("enter")
                case 1:
                    see.engine.feed(prompt_read(), step(["a", "b"], "c", rejected=["x"]))
                case 2:
                    see.engine.feed(step([], "d"), END if rng.random() < 0.8 else GenerationError("llama.cpp failed"))
                case _:
                    # Twice in a row it would leave, which has a test of its own.
                    key = rng.choice(KEYS)
                    await see.pilot.press(key)
                    if key == "ctrl+c":
                        await see.pilot.press("a", "backspace")
        await see.pilot.press("escape")
        see.engine.feed(*[END] * 20)
        await see.until(lambda: see.screen._composer.state in (State.READY, State.BROKEN), "the end of the last answer")
        assert not see.engine.overlapped
        for messages, _ in see.engine.asked:
            roles = [message.role for message in messages]
            assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"] * (len(roles) % 2)
        assert len(see.engine.threads) == 1
        await see.pilot.press("ctrl+q")
    assert chat.engine.closed
    for kept in store.chats():
        assert all(message.state is not Kept.WRITING for message in store.messages(kept.id))


@pytest.mark.parametrize("seed", range(2))
async def test_models_are_changed_in_between(store: ChatStore, seed: int) -> None:
    """One thread owns all engines, and never two at a time."""
    rng = random.Random(seed)
    put(SMALL)
    put(OTHER)
    chat = ModelsChat(store)
    async with chat.run() as see:
        await see.until_state(State.READY)
        await see.open_picker()
        await see.point_at("pair other")
        await see.press("enter")
        await see.until(lambda: len(chat.engines) == 2, "the other models")
        for number in range(30):
            match rng.randrange(5):
                case 0:
                    await see.press("ctrl+o", rng.choice(["down", "up"]), rng.choice(["enter", "escape"]))
                case 1:
                    see.chat.query_one(Prompt).insert(f"question {number}")
                    await see.press("enter")
                case 2:
                    chat.engines[-1].feed(prompt_read(), step(["a", "b"], "c", rejected=["x"]))
                case 3:
                    chat.engines[-1].feed(step([], "d"), END)
                case _:
                    await see.press(rng.choice(["escape", "ctrl+r", "ctrl+n", "ctrl+l", "ctrl+t"]))
        await see.press("escape", "escape", "ctrl+q")
    assert not any(engine.overlapped for engine in chat.engines)
    assert all(engine.closed for engine in chat.engines)
    assert len({thread for engine in chat.engines for thread in engine.threads}) == 1
    assert "engine" not in {thread.name for thread in threading.enumerate()}
    for kept in store.chats():
        assert all(message.state is not Kept.WRITING for message in store.messages(kept.id))
