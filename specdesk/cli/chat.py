"""`specdesk chat`, and `specdesk` alone: a conversation on the terminal."""

from __future__ import annotations

import sys

from specdesk.cli import options as opt
from specdesk.cli.console import say
from specdesk.cli.grouping import grouped
from specdesk.cli.sampling import as_rule, as_sampling
from specdesk.errors import UsageError


@grouped
def chat(
    *,
    models: opt.Models,
    system: opt.System = None,
    max_tokens: opt.MaxTokens = None,
    sampling: opt.SamplingOptions,
    speculation: opt.Speculation,
    engine: opt.EngineOptions,
) -> int:
    """Chat in the terminal, and see who wrote each token and what speculation brings.

    Ctrl+O chooses other models; without an option that names some, those chosen last are loaded, else the recommended
    pair. One that is not on this disk is fetched if you agree. Chats are kept; `specdesk chats` lists them.
    With --seed every answer uses that seed; without it each answer has a new one, shown below it.

    Exit codes: 0 done, 2 usage, 3 model, 4 network, 5 storage.
    """
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise UsageError("the chat needs a terminal", "for scripts and pipes there is: specdesk run PROMPT")
    # Loading NumPy, llama.cpp and Textual takes a moment that --help should not.
    from specdesk import paths
    from specdesk.cli.models import engine_settings, intended_or_last
    from specdesk.engine.client import Engine
    from specdesk.hub.chosen import Chosen
    from specdesk.hub.fetch import fetch_pair
    from specdesk.hub.manifest import load_manifest
    from specdesk.store.chat_store import ChatStore
    from specdesk.tui.app import ChatApp
    from specdesk.tui.chat_options import ChatOptions
    from specdesk.tui.engine_thread import Load
    from specdesk.tui.model_shelf import ModelShelf

    def load_of(chosen: Chosen) -> Load:
        settings = engine_settings(
            chosen,
            engine,
            lookahead=speculation.lookahead,
            exact=speculation.exact,
            drafter=speculation.drafter,
        )
        return lambda notify, stop, progress: Engine(settings, notify, stop, progress)

    first, note = intended_or_last(models)
    shelf = ModelShelf(
        first=first,
        manifest=load_manifest(),
        load_of=load_of,
        fetch=lambda pair, report, stop: fetch_pair(pair, report, stop=stop),
        folder=paths.models_dir(),
        files=tuple(path for path in (models.target, models.draft) if path is not None),
        n_ctx=engine.ctx,
        may_fetch=not models.no_download,
        note=note,
    )
    options = ChatOptions(
        as_sampling(sampling),
        speculation.lookahead,
        sampling.seed,
        system,
        max_tokens,
        as_rule(speculation),
        speculation.drafter,
    )
    with ChatStore.open(say) as store:
        app = ChatApp(load_of(first), store, options, shelf)
        app.run()
    if app.load_error is not None:
        # Said again below the chat, which is gone from the screen.
        raise app.load_error
    return app.return_code or 0
