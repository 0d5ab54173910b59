"""What users, models and files say is text wherever it is shown, never markup (NEEDS T2)."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

from textual.widget import Widget
from textual.widgets import Input, OptionList, Static
from textual.widgets._toast import Toast

import specdesk.tui
from specdesk.engine.client import EngineInfo, ModelInfo
from specdesk.store.chat_store import ChatStore
from specdesk.tui.messages import EngineLoaded
from specdesk.tui.terminal.clipboard import Copied
from specdesk.tui.terminal.copying import TextCopied
from specdesk.tui.widgets.answer import AnswerTurn
from specdesk.tui.widgets.chats import Chats
from specdesk.tui.widgets.header import ChatHeader
from tests.tui.driver import Chat, Driver
from tests.tui.samples import MARKUP
from tests.tui.scripted import step

TEXTS = MARKUP[:4]
"""Unclosed, closing nothing, no tag at all, and one that would do something when it is clicked."""

Make = Callable[..., Chat]

SOURCE = Path(specdesk.tui.__file__).parent


async def shows(see: Driver, text: str) -> None:
    await see.until(lambda: text in see.shown(), f"“{text}” on the screen")


async def says(see: Driver, widget: Static, text: str) -> None:
    await see.until(lambda: text in str(widget.render()), text)


async def tells(see: Driver, text: str) -> None:
    """In passing; it is broken into rows as there is room."""
    await see.until(lambda: any(text in str(toast.render()) for toast in see.screen.query(Toast)), text)


async def click_all(see: Driver, *kinds: type[Widget]) -> None:
    for kind in kinds:
        for widget in see.pilot.app.screen.query(kind):
            await see.pilot.click(widget)
    assert see.pilot.app.is_running


async def test_names_of_models(make_chat: Make) -> None:
    chat = make_chat()
    async with chat.run(size=(160, 60)) as see:
        for text in TEXTS:
            target, draft = ModelInfo(f"{text} target", "a", 0), ModelInfo(f"D{text}x".replace(" ", ""), "b", 0)
            see.screen.post_message(EngineLoaded(EngineInfo(target, draft, 4096, 2)))
            await shows(see, f"{text} target ⇐ {draft.name}")
            await click_all(see, ChatHeader)
        await see.ask("go")
        await see.answer(step([], "a"))
        await says(see, see.last._heading, f"{text} target")
        await click_all(see, AnswerTurn)


async def test_titles_of_chats_and_what_is_searched_for(make_chat: Make, store: ChatStore) -> None:
    """Bug: "[/" in a title ended the program when the chat was deleted, "[red]" went without a trace."""
    store.create_chat("stays")
    chat = make_chat()
    async with chat.run(size=(160, 40)) as see:
        chats = see.screen.query_one(Chats)
        listed, field = chats.query_one(OptionList), chats.query_one(Input)
        for text in TEXTS:
            store.create_chat(f"so {text}")
            field.value = "so "
            await shows(see, f"so {text}")
            field.clear()
            await see.until(lambda: listed.option_count == len(store.chats()), "all chats")
            listed.focus()
            await see.pilot.press("f2")
            await see.until(lambda: chat.app.screen is not see.screen, "the question for another title")
            await shows(see, f"so {text}")
            await see.pilot.press("escape", "delete")
            await tells(see, f"deleted “so {text}”")
            listed.focus()
            await see.pilot.press("u")
            await tells(see, f"“so {text}” is back")
            field.value = f"zz{text}"
            await says(see, chats.query_one(".empty", Static), f"nothing holds “zz{text}”")
            await click_all(see, Toast)


async def test_what_a_tool_for_copying_says(make_chat: Make) -> None:
    chat = make_chat()
    async with chat.run(size=(160, 40)) as see:
        for text in TEXTS:
            see.screen.post_message(TextCopied(Copied("xsel", False, 3, (f"xclip failed: {text}",))))
            await tells(see, f"xclip failed: {text}")
            await click_all(see, Toast)


def calls() -> Iterator[tuple[str, ast.Call]]:
    """Everything that the interface calls, with its place."""
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                yield f"{file.relative_to(SOURCE)}:{node.lineno}", node


def name_of(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def test_no_text_of_ours_is_read_as_markup() -> None:
    """None needs it, and what is a constant today holds a name tomorrow."""
    read = [
        place
        for place, call in calls()
        if name_of(call) in {"Static", "Label", "notify"}
        and not any(word.arg == "markup" and getattr(word.value, "value", True) is False for word in call.keywords)
    ]
    assert read == []
