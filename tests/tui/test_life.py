"""Loading, failing, quitting: the engine's thread always ends, and nothing is silent."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from specdesk.cli.chat import chat as chat_command
from specdesk.engine.client import Message
from specdesk.errors import EngineDiedError, GenerationError, ModelError, UsageError
from specdesk.tui.chat.state import State
from specdesk.tui.widgets.turns import Failure
from tests.tui.driver import Chat
from tests.tui.scripted import step

Make = Callable[..., Chat]


@pytest.mark.parametrize("keys", [["ctrl+q"], ["ctrl+c", "ctrl+c"]])
async def test_quitting_while_it_answers_ends_the_thread_and_the_engine(make_chat: Make, keys: list[str]) -> None:
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("go")
        await see.stream(step(["a"], "b"))
        await see.pilot.press(keys[0])
        if keys[1:]:
            await see.until_state(State.READY)
            await see.pilot.press(keys[1])
    assert "engine" not in {thread.name for thread in threading.enumerate()}
    assert chat.engine.closed
    assert chat.engine.stopped
    assert len(chat.engine.threads) == 1
    assert chat.app.load_error is None


async def test_quitting_while_it_loads_frees_what_was_loaded(make_chat: Make) -> None:
    chat = make_chat(load_at_once=False)
    async with chat.run(ready=False) as see:
        await see.until_state(State.LOADING)
        await see.pilot.press("ctrl+q")
        chat.may_load.set()
    assert "engine" not in {thread.name for thread in threading.enumerate()}
    assert chat.engine.closed


async def test_a_failed_load_is_said_and_gives_its_exit_code(make_chat: Make) -> None:
    error = ModelError("cannot load big.gguf", "download it again")
    chat = make_chat(load_error=error)
    async with chat.run(ready=False) as see:
        await see.until_state(State.BROKEN)
        assert "cannot load big.gguf" in see.shown()
        assert "download it again" in see.shown()
        see.prompt.insert("hello")
        await see.pilot.press("enter")
        await see.until(lambda: "not sent" in see.shown(), "the refusal")
        await see.pilot.press("ctrl+q")
    assert chat.app.load_error is error
    assert "engine" not in {thread.name for thread in threading.enumerate()}


async def test_a_failed_answer_is_said_and_the_next_one_works(make_chat: Make) -> None:
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("too long")
        see.engine.feed(UsageError("the prompt has 9999 tokens", "raise --ctx"))
        await see.until_state(State.READY)
        assert "the prompt has 9999 tokens" in see.shown()
        assert "raise --ctx" in see.shown()
        assert see.prompt.text == "too long"
        see.prompt.clear()
        await see.ask("short")
        await see.stream(step(["ok"], " so"))
        see.engine.feed(GenerationError("llama.cpp failed"))
        await see.until_state(State.READY)
        assert len(see.screen.query(Failure)) == 2
        await see.ask("next")
        assert see.engine.asked[-1][0] == (
            Message("user", "short"),
            Message("assistant", "ok so"),
            Message("user", "next"),
        )


async def test_a_failed_load_may_be_tried_again(make_chat: Make) -> None:
    chat = make_chat(load_error=ModelError("cannot load big.gguf", "download it again"))
    async with chat.run(ready=False) as see:
        await see.until_state(State.BROKEN)
        await see.pilot.press("ctrl+l")
        await see.until_state(State.READY)
        await see.ask("hello")
        await see.answer(step(["a"], "b"))
    assert chat.app.load_error is None


async def test_an_engine_that_dies_leaves_the_answer_and_comes_back(make_chat: Make) -> None:
    chat = make_chat()
    async with chat.run() as see:
        await see.ask("go")
        await see.stream(step(["half"], " an answer"))
        see.engine.feed(EngineDiedError("the engine's process was ended by SIGABRT", "", ("GGML_ASSERT([/x]) failed",)))
        await see.until_state(State.BROKEN)
        assert "half an answer" in see.shown()
        assert "SIGABRT" in see.shown()
        assert "GGML_ASSERT([/x]) failed" in see.shown()
        assert chat.engine.closed
        await see.pilot.press("ctrl+l")
        await see.until_state(State.READY)
        await see.ask("on")
        assert see.engine.asked[-1][0][:2] == (Message("user", "go"), Message("assistant", "half an answer"))
    assert "engine" not in {thread.name for thread in threading.enumerate()}


async def test_progress_of_the_load_is_shown(make_chat: Make) -> None:
    chat = make_chat(said="loading big [/x].gguf: 43%", load_at_once=False)
    async with chat.run(ready=False) as see:
        await see.until(lambda: "loading big [/x].gguf: 43%" in see.shown(), "progress")
        chat.may_load.set()
        await see.until_state(State.READY)


async def test_a_bug_in_the_engine_ends_the_app_with_itself(make_chat: Make) -> None:
    chat = make_chat()

    async def meet_the_bug() -> None:
        async with chat.run() as see:
            await see.ask("go")
            see.engine.feed(ZeroDivisionError("bug"))
            await see.until(lambda: not chat.app.is_running, "the end of the app")

    with pytest.raises(ZeroDivisionError):
        await meet_the_bug()
    assert chat.engine.closed


async def test_quitting_while_it_loads_stops_the_load(make_chat: Make) -> None:
    chat = make_chat(load_at_once=False)
    async with chat.run(ready=False) as see:
        await see.until_state(State.LOADING)
        await see.pilot.press("ctrl+q")
        chat.may_load.set()
    assert chat.engine.stop.is_set()


def test_without_a_terminal_the_chat_points_to_run() -> None:
    with pytest.raises(UsageError, match="specdesk run PROMPT"):
        chat_command()
