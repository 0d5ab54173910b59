"""`specdesk chat`, and `specdesk` alone: a conversation on the terminal."""

from __future__ import annotations

import sys
from dataclasses import asdict

from specdesk.cli.console import say
from specdesk.cli.grouping import Given, grouped
from specdesk.cli.options.answers import MaxTokens, SamplingOptions, System
from specdesk.cli.options.drafts import Speculation
from specdesk.cli.options.engine import EngineOptions
from specdesk.cli.options.models import Models
from specdesk.cli.sampling import as_sampling
from specdesk.errors import UsageError


@grouped
def chat(
    *,
    models: Models,
    system: System = None,
    max_tokens: MaxTokens = None,
    sampling: SamplingOptions,
    speculation: Speculation,
    engine: EngineOptions,
    given: Given,
) -> int:
    """Chat in the terminal, and see who wrote each token and what speculation brings.

    Ctrl+O chooses other models; without an option that names some, those chosen last are loaded, else the recommended
    pair. One that is not on this disk is fetched if you agree. Chats are kept; `specdesk chats` lists them.
    With --seed every answer uses that seed; without it each answer has a new one, shown below it.

    What was saved in the chat's settings (Ctrl+S there) takes the place of the defaults below. An option given here
    outranks it, for this run.

    Exit codes: 0 done, 2 usage, 3 model, 4 network, 5 storage.
    """
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise UsageError("the chat needs a terminal", "for scripts and pipes there is: specdesk run PROMPT")
    # Loading NumPy, llama.cpp and Textual takes a moment that --help should not.
    from specdesk.cli.chosen_models import engine_settings, intended_or_last
    from specdesk.engine.client import Engine, check_build
    from specdesk.hub.download.fetch import fetch_pair
    from specdesk.hub.here.chosen import Chosen
    from specdesk.hub.here.local_models import library_here
    from specdesk.hub.manifest import load_manifest
    from specdesk.store.chat_store import ChatStore
    from specdesk.tui.app import ChatApp
    from specdesk.tui.engine_thread import Load
    from specdesk.tui.models.shelf import ModelShelf
    from specdesk.tui.preferences.catalogue import BY_KEY
    from specdesk.tui.preferences.keeper import Keeper
    from specdesk.tui.setup import Setup

    first, note = intended_or_last(models)
    settings = engine_settings(first, engine, lookahead=None, exact=False, allow_plain=True)
    check_build(settings)
    typed = {**asdict(sampling), **asdict(speculation), **asdict(engine), "system": system, "max_tokens": max_tokens}
    setup = Setup(
        Keeper.open(),
        settings,
        given={key: typed[key] for key in BY_KEY if key in given & typed.keys()},
        sampling=as_sampling(sampling),
    )

    def load_of(chosen: Chosen) -> Load:
        # As the setup is when they are loaded, and not now.
        return lambda notify, stop, progress: Engine(
            setup.engine_for(chosen.target, chosen.draft), notify, stop, progress
        )

    shelf = ModelShelf(
        first=first,
        manifest=load_manifest(),
        load_of=load_of,
        fetch=lambda pair, report, stop: fetch_pair(pair, report, stop=stop),
        here=library_here([path for path in (models.target, models.draft) if path is not None]),
        n_ctx=lambda: setup.engine.n_ctx,
        may_fetch=not models.no_download,
        note=note,
    )
    with ChatStore.open(say) as store:
        app = ChatApp(load_of(first), store, setup, shelf)
        app.run()
    if app.load_error is not None:
        # Said again below the chat, which is gone from the screen.
        raise app.load_error
    return app.return_code or 0
