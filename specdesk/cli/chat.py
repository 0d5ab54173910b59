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

    The recommended pair is fetched first if it is absent. Chats are kept on this disk; `specdesk chats` lists them.
    With --seed every answer uses that seed; without it each answer has a new one, shown below it.

    Exit codes: 0 done, 2 usage, 3 model, 4 network, 5 storage.
    """
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise UsageError("the chat needs a terminal", "for scripts and pipes there is: specdesk run PROMPT")
    # Loading NumPy, llama.cpp and Textual takes a moment that --help should not.
    from specdesk.cli.models import choose, engine_settings
    from specdesk.engine.client import Engine
    from specdesk.store.chat_store import ChatStore
    from specdesk.tui.app import ChatApp
    from specdesk.tui.chat_options import ChatOptions

    chosen = choose(models)
    settings = engine_settings(
        chosen,
        engine,
        lookahead=speculation.lookahead,
        exact=speculation.exact,
        drafter=speculation.drafter,
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
        app = ChatApp(lambda notify, stop, progress: Engine(settings, notify, stop, progress), store, options)
        app.run()
    if app.load_error is not None:
        # Said again below the chat, which is gone from the screen.
        raise app.load_error
    return app.return_code or 0
