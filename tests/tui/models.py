"""A chat with models to choose from, over scripted engines and toy pairs."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from textual.pilot import Pilot

from specdesk.core.interrupted import Interrupted
from specdesk.engine.client import StopFlag
from specdesk.errors import SpecdeskError
from specdesk.hub.artifacts import Pair
from specdesk.hub.download.report import Reporter
from specdesk.hub.here.chosen import Chosen, of_pair
from specdesk.hub.here.local_models import library_here
from specdesk.hub.here.on_disk import file_path
from specdesk.hub.manifest import Manifest
from specdesk.hub.stopping import Stop
from specdesk.store.chat_store import ChatStore
from specdesk.tui.app import ChatApp
from specdesk.tui.chat.screen import ChatScreen
from specdesk.tui.chat.state import State
from specdesk.tui.engine_thread import Load
from specdesk.tui.models.shelf import ModelShelf
from specdesk.tui.preferences.keeper import Keeper
from specdesk.tui.setup import Setup
from specdesk.tui.widgets.model_list import ModelList
from specdesk.tui.widgets.prompt import Prompt
from tests.hub.samples import CONTENT, artifact_of
from tests.tui.driver import wait_until
from tests.tui.scripted import FILES, OPTIONS, PATIENCE_S, ScriptedEngine, values_of

SMALL = Pair("small", artifact_of(name="small-target"), artifact_of(name="small-draft"), "two toys [b + 1")
OTHER = Pair("other", artifact_of(name="other-target", licence="Own [/x]"), artifact_of(name="other-draft"), "two more")


def no_fetch(pair: Pair, report: Reporter, stop: Stop) -> None:
    pytest.fail(f"{pair.name} was fetched")


def put(pair: Pair) -> None:
    """The pair is on the disk."""
    for artifact in pair.artifacts:
        path = file_path(artifact, artifact.files[0])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(CONTENT)


class ScriptedFetch:
    """A fetch that reports as the test says, and then waits to be told to end."""

    def __init__(self, said: Callable[[Reporter], None] = lambda report: None) -> None:
        self._said = said
        self.error: Exception | None = None
        self.may_end = threading.Event()
        self.calls = 0

    def __call__(self, pair: Pair, report: Reporter, stop: Stop) -> None:
        self.calls += 1
        self._said(report)
        deadline_s = time.monotonic() + PATIENCE_S
        while not self.may_end.wait(0.005):
            if stop.is_set():
                raise Interrupted
            assert time.monotonic() < deadline_s
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        put(pair)


@dataclass
class ModelsChat:
    """A chat whose loads are recorded, and fail as told."""

    store: ChatStore
    first: Chosen = field(default_factory=lambda: of_pair(SMALL))
    pairs: Sequence[Pair] = (SMALL, OTHER)
    files: Sequence[Path] = ()
    fetch: Callable[[Pair, Reporter, Stop], object] = no_fetch
    may_fetch: bool = True
    note: str = ""
    errors: dict[Path, SpecdeskError] = field(default_factory=dict)
    """What loading a target ends in, the first time."""
    notices: Callable[[Chosen], Sequence[str]] = lambda chosen: ()
    """What is said while it loads."""
    loads: list[Chosen] = field(default_factory=list)
    engines: list[ScriptedEngine] = field(default_factory=list)

    def _load_of(self, chosen: Chosen) -> Load:
        def load(notify: Callable[[str], None], stop: StopFlag, progress: Callable[[str], None]) -> ScriptedEngine:
            self.loads.append(chosen)
            for notice in self.notices(chosen):
                notify(notice)
            if chosen.target in self.errors:
                raise self.errors.pop(chosen.target)
            self.engines.append(ScriptedEngine(stop=stop))
            return self.engines[-1]

        return load

    @asynccontextmanager
    async def run(self, size: tuple[int, int] = (120, 40)) -> AsyncIterator[Seen]:
        """The chat on a screen of that size."""
        setup = Setup(Keeper.open(), FILES, given=values_of(OPTIONS))
        shelf = ModelShelf(
            first=self.first,
            manifest=Manifest(self.pairs[0].name, (), tuple(self.pairs)),
            load_of=self._load_of,
            fetch=self.fetch,
            here=library_here(self.files),
            n_ctx=lambda: 4096,
            may_fetch=self.may_fetch,
            note=self.note,
        )
        app = ChatApp(self._load_of(self.first), self.store, setup, shelf)
        try:
            async with app.run_test(size=size) as pilot:
                yield Seen(app, pilot)
        finally:
            app.engine.close()


@dataclass
class Seen:
    """What is on the screen, and the keys."""

    app: ChatApp
    pilot: Pilot[None]

    @property
    def text(self) -> str:
        """All of the screen on top."""
        return "\n".join(strip.text for strip in self.app.screen._compositor.render_strips())

    @property
    def words(self) -> str:
        """The same as one line, borders and spaces left out."""
        return " ".join("".join(" " if c in "│█▏▕╭╮╰╯─▄▃▅▁▂▆▇\n" else c for c in self.text).split())

    @property
    def chat(self) -> ChatScreen:
        return self.app._chat

    @property
    def list(self) -> ModelList:
        return self.app.screen.query_one(ModelList)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def until(self, true: Callable[[], bool], what: str) -> None:
        await wait_until(self.pilot, true, what)

    async def says(self, *parts: str) -> None:
        """Waits until the screen holds all of these."""
        for part in parts:
            await self.until(lambda part=part: part in self.words, f"“{part}” on\n{self.text}")  # type: ignore[misc]

    async def until_state(self, state: State) -> None:
        prompt = self.chat.query_one(Prompt)
        await self.until(
            lambda: self.app.screen is self.chat and state.value in str(prompt.border_subtitle), f"state {state}"
        )
        await self.pilot.pause()

    async def open_picker(self) -> None:
        await self.press("ctrl+o")
        await self.says("Type to filter")
        await self.until(lambda: not self.list.border_subtitle and "looking" not in self.text, "the end of the search")

    async def point_at(self, key: str) -> None:
        """Moves down to an entry."""
        await self.until(lambda: self.list.entry(key) is not None, f"{key} in the list")
        for _ in range(self.list.option_count):
            if self.list.pointed_key == key:
                return
            await self.press("down")
        pytest.fail(f"{key} cannot be reached")
