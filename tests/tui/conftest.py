"""Chats over scripted engines."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from specdesk.engine.client import StopFlag
from specdesk.errors import SpecdeskError
from specdesk.settings import EngineSettings
from specdesk.store.chat_store import ChatStore
from specdesk.tui.app import ChatApp
from specdesk.tui.chat_options import ChatOptions
from specdesk.tui.preferences import keeper
from specdesk.tui.preferences.keeper import Keeper
from specdesk.tui.setup import Setup
from specdesk.tui.view import View
from tests.tui.driver import Chat
from tests.tui.scripted import FILES, OPTIONS, PATIENCE_S, ScriptedEngine, values_of


@pytest.fixture(autouse=True)
def good_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """One with colours and styles, whatever the tests run on; a test may say otherwise."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Makes the directory of preferences one that may not be written, also by root."""

    def refuse(*_place: object, **_mode: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    return lambda: monkeypatch.setattr(keeper, "replace_whole", refuse)


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
        options: ChatOptions | None = OPTIONS,
        engine: ScriptedEngine | None = None,
        load_error: SpecdeskError | None = None,
        notices: Sequence[str] = (),
        load_at_once: bool = True,
        said: str = "",
        view: View | None = None,
    ) -> Chat:
        """`options` stand for what was typed on the command line; None: nothing was. `view`: as answers are set."""
        scripted = engine or ScriptedEngine()
        loaded_with: list[EngineSettings] = []
        may_load = threading.Event()
        errors = [] if load_error is None else [load_error]
        if load_at_once:
            may_load.set()

        def load(notify: Callable[[str], None], stop: StopFlag, progress: Callable[[str], None]) -> ScriptedEngine:
            if said:
                progress(said)
            may_load.wait(PATIENCE_S)
            loaded_with.append(setup.engine)
            for notice in notices:
                notify(notice)
            if errors:
                raise errors.pop()
            scripted.threads.add(threading.get_ident())
            scripted.stop = stop
            return scripted

        given = {} if options is None else values_of(options)
        setup = Setup(Keeper.open(), FILES, given=given if view is None else {**given, "view": view})
        made.append(Chat(scripted, may_load, ChatApp(load, store, setup), loaded_with))
        return made[-1]

    yield make
    for chat in made:
        chat.may_load.set()
        chat.app.engine.close()
