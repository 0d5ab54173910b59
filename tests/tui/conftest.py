"""Chats over scripted engines."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from specdesk.engine.client import StopFlag
from specdesk.errors import SpecdeskError
from specdesk.store.chat_store import ChatStore
from specdesk.tui.app import ChatApp
from specdesk.tui.chat_options import ChatOptions
from tests.tui.driver import Chat
from tests.tui.scripted import OPTIONS, PATIENCE_S, ScriptedEngine


@pytest.fixture
def store(own_home: Path) -> Iterator[ChatStore]:
    """The chats of a test's own home."""
    with ChatStore.open(pytest.fail) as opened:
        yield opened


@pytest.fixture
def make_chat(store: ChatStore) -> Iterator[Callable[..., Chat]]:
    """Builds chats; whatever a test left open is let go at its end."""
    made: list[Chat] = []

    def make(
        *,
        options: ChatOptions = OPTIONS,
        engine: ScriptedEngine | None = None,
        load_error: SpecdeskError | None = None,
        notices: Sequence[str] = (),
        load_at_once: bool = True,
        said: str = "",
    ) -> Chat:
        scripted = engine or ScriptedEngine()
        may_load = threading.Event()
        errors = [] if load_error is None else [load_error]
        if load_at_once:
            may_load.set()

        def load(notify: Callable[[str], None], stop: StopFlag, progress: Callable[[str], None]) -> ScriptedEngine:
            if said:
                progress(said)
            may_load.wait(PATIENCE_S)
            for notice in notices:
                notify(notice)
            if errors:
                raise errors.pop()
            scripted.threads.add(threading.get_ident())
            scripted.stop = stop
            return scripted

        made.append(Chat(scripted, may_load, ChatApp(load, store, options)))
        return made[-1]

    yield make
    for chat in made:
        chat.may_load.set()
        chat.app.engine.close()
