"""Which models the chat runs: asks, has fetched what is missing, has them loaded, and remembers what worked."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from textual.app import App

from specdesk.engine.client import EngineInfo, StopFlag
from specdesk.errors import SpecdeskError, StorageError
from specdesk.hub.artifacts import Pair
from specdesk.hub.here.chosen import Chosen, absent, remember
from specdesk.hub.here.fit import free_memory
from specdesk.hub.here.on_disk import pair_paths
from specdesk.tui.engine_thread import EngineLike, Load
from specdesk.tui.models.entries import Machine
from specdesk.tui.models.menu import Menu
from specdesk.tui.models.offer import Offer, offer_of
from specdesk.tui.models.own_names import with_own_names
from specdesk.tui.models.shelf import ModelShelf
from specdesk.tui.screens.fetch import FetchOutcome, FetchScreen
from specdesk.tui.screens.picker import PickerScreen


class ModelChanges:
    """The way from a wish to loaded models. One at a time; its methods are for the screen's thread."""

    def __init__(
        self,
        app: App[None],
        shelf: ModelShelf,
        start: Callable[[Load], None],
        change: Callable[[Load], None],
        hold: Callable[[], None],
        say: Callable[[str], None],
    ) -> None:
        """`start` loads for the first time, `change` other models instead; `say` keeps a line for the user.

        `hold` says that nothing is loaded until the user chooses.
        """
        self._app = app
        self._shelf = shelf
        self._start = start
        self._change = change
        self._hold = hold
        self._say = say
        self._wanted = shelf.first
        self._running: Chosen | None = None
        self._tuned = ""
        self._by_user = False
        self._busy = False

    # --- what is asked for

    def begin(self) -> None:
        """Load what was chosen for the start; if it has to be fetched, ask first."""
        if self._shelf.note:
            self._say(self._shelf.note)
        self._run(self._begin)

    def choose(self, failure: SpecdeskError | None = None) -> None:
        """Let the user choose; `failure` is why the last choice did not load."""
        self._run(partial(self._choose, failure))

    # --- how it went

    def loaded(self, info: EngineInfo) -> None:
        """What was wanted runs."""
        self._running = self._wanted
        self._tuned = "" if info.tuned is None else info.tuned.words
        if self._by_user:
            try:
                remember(self._running)
            except StorageError as error:
                self._say(str(error))

    def failed(self, error: SpecdeskError) -> None:
        """It does not run; if the user has just chosen it, there is another choice."""
        self._running = None
        if self._by_user:
            self.choose(error)

    def lost(self) -> None:
        """Nothing runs any more."""
        self._running = None

    # --- the way

    def _run(self, way: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if not self._busy:
            self._busy = True
            self._app.run_worker(self._guarded(way), group="models")

    async def _guarded(self, way: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await way()
        finally:
            self._busy = False

    async def _begin(self) -> None:
        if self._offer(self._wanted) is None:
            self._start(self._load_of(self._wanted))
            return
        self._hold()  # nothing loads behind what is asked
        brought = await self._brought(self._wanted, welcome=True)
        if brought is None:
            return
        if brought != self._wanted:
            self._wanted, self._by_user = brought, True
        self._change(self._load_of(self._wanted))

    async def _choose(self, failure: SpecdeskError | None) -> None:
        picked = await self._picked(failure)
        brought = None if picked is None else await self._brought(picked, welcome=False)
        if brought is not None and brought != self._running:
            self._wanted, self._by_user, self._running = brought, True, None
            self._change(self._load_of(brought))

    async def _picked(self, failure: SpecdeskError | None = None) -> Chosen | None:
        shelf = self._shelf
        menu = Menu(
            shelf.manifest.pairs,
            Machine(free_memory(), shelf.n_ctx()),
            running=self._running,
            tuned=self._tuned,
            may_fetch=shelf.may_fetch,
        )
        at = self._running or (self._wanted if failure is not None else None)
        return await self._app.push_screen_wait(PickerScreen(menu, shelf.here, at=at, failure=failure))

    async def _brought(self, chosen: Chosen, *, welcome: bool) -> Chosen | None:
        """The choice, or another one the user made instead, once its files are here; None if the user left it."""
        while (offer := self._offer(chosen)) is not None:
            pair, first = offer
            now, fetch = partial(offer_of, pair, first.n_ctx), partial(self._shelf.fetch, pair)
            match await self._app.push_screen_wait(FetchScreen(first, now, fetch, welcome=welcome)):
                case FetchOutcome.FETCHED:
                    return chosen
                case FetchOutcome.LEFT:
                    return None
                case FetchOutcome.OTHER:
                    chosen = await self._picked() or chosen
        return chosen

    def _offer(self, chosen: Chosen) -> tuple[Pair, Offer] | None:
        """The pair that has to be fetched first, and what that means; None where nothing can or need be fetched."""
        try:
            pair = absent(chosen, self._shelf.manifest)
            return None if pair is None else (pair, offer_of(pair, self._shelf.n_ctx()))
        except StorageError:  # loading will meet it too, and say it
            return None

    def _load_of(self, chosen: Chosen) -> Load:
        def load(notify: Callable[[str], None], stop: StopFlag, progress: Callable[[str], None]) -> EngineLike:
            if chosen.pair is not None:
                pair_paths(self._shelf.manifest.pair(chosen.pair))  # which says how to get what is missing
            engine = self._shelf.load_of(chosen)(notify, stop, progress)
            engine.info = with_own_names(engine.info, chosen, self._shelf.manifest)
            return engine

        return load
