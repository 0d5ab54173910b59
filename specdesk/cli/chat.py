"""`specdesk chat`, and `specdesk` alone: a conversation on the terminal."""

from __future__ import annotations

import sys

from specdesk.cli import options as opt
from specdesk.cli.sampling import as_rule, as_sampling
from specdesk.errors import UsageError
from specdesk.settings import DEFAULT_LOOKAHEAD, DEFAULT_N_CTX


def chat(
    pair: opt.Pair = None,
    target: opt.Target = None,
    draft: opt.Draft = None,
    no_download: opt.NoDownload = False,
    system: opt.System = None,
    max_tokens: opt.MaxTokens = None,
    temperature: opt.Temperature = opt.SAMPLING.temperature,
    seed: opt.Seed = None,
    top_k: opt.TopK = opt.SAMPLING.top_k,
    top_p: opt.TopP = opt.SAMPLING.top_p,
    min_p: opt.MinP = opt.SAMPLING.min_p,
    typical_p: opt.TypicalP = opt.SAMPLING.typical_p,
    top_n_sigma: opt.TopNSigma = opt.SAMPLING.top_n_sigma,
    repeat_penalty: opt.RepeatPenalty = opt.SAMPLING.repeat_penalty,
    frequency_penalty: opt.FrequencyPenalty = opt.SAMPLING.frequency_penalty,
    presence_penalty: opt.PresencePenalty = opt.SAMPLING.presence_penalty,
    repeat_last_n: opt.RepeatLastN = opt.SAMPLING.repeat_last_n,
    samplers: opt.Samplers = opt.SAMPLERS,
    logit_bias: opt.LogitBias = None,
    lookahead: opt.Lookahead = DEFAULT_LOOKAHEAD,
    verify: opt.Verify = None,
    exact: opt.Exact = False,
    ctx: opt.Ctx = DEFAULT_N_CTX,
    threads: opt.Threads = None,
    gpu_layers: opt.GpuLayers = None,
    draft_gpu_layers: opt.DraftGpuLayers = None,
) -> int:
    """Chat in the terminal, and see who wrote each token and what speculation brings.

    The recommended pair is fetched first if it is absent. The conversation is kept in memory only. With --seed every
    answer uses that seed; without it each answer has a new one, shown below it.

    Exit codes: 0 done, 2 usage, 3 model, 4 network, 5 storage.
    """
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise UsageError("the chat needs a terminal", "for scripts and pipes there is: specdesk run PROMPT")
    # Loading NumPy, llama.cpp and Textual takes a moment that --help should not.
    from specdesk.cli.models import choose, engine_settings
    from specdesk.engine.client import Engine, native_output
    from specdesk.tui.app import ChatApp
    from specdesk.tui.conversation import ChatOptions

    sampling = as_sampling(
        samplers,
        logit_bias,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        min_p=min_p,
        typical_p=typical_p,
        top_n_sigma=top_n_sigma,
        repeat_penalty=repeat_penalty,
        frequency_penalty=frequency_penalty,
        presence_penalty=presence_penalty,
        repeat_last_n=repeat_last_n,
    )
    chosen = choose(pair, target, draft, no_download=no_download)
    settings = engine_settings(
        chosen,
        lookahead=lookahead,
        ctx=ctx,
        threads=threads,
        gpu_layers=gpu_layers,
        draft_gpu_layers=draft_gpu_layers,
        exact=exact,
    )

    native_output(verbose=False)
    app = ChatApp(
        lambda notify, stop: Engine(settings, notify, stop),
        ChatOptions(sampling, lookahead, seed, system, max_tokens, as_rule(verify, exact=exact)),
    )
    app.run()
    if app.load_error is not None:
        # Said again below the chat, which is gone from the screen.
        raise app.load_error
    return app.return_code or 0
