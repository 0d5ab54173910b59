"""`specdesk prove`: the claims of exactness, tried on the user's own pair."""

from __future__ import annotations

import json
import secrets
from dataclasses import asdict
from typing import Annotated, Any

import typer

from specdesk.cli.console import Waiting, say
from specdesk.cli.grouping import grouped
from specdesk.cli.options.answers import Seed
from specdesk.cli.options.drafts import ProvenLookahead
from specdesk.cli.options.engine import EngineOptions, Verbose
from specdesk.cli.options.models import Models
from specdesk.core.interrupted import Interrupted
from specdesk.errors import EXIT_INTERRUPTED, UsageError
from specdesk.settings import PROVEN_LOOKAHEAD


@grouped
def prove(
    *,
    models: Models,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Fewer prompts and draws: 1 to 2 minutes for the default pair on 2 cores."),
    ] = False,
    lookahead: ProvenLookahead = PROVEN_LOOKAHEAD,
    seed: Seed = None,
    engine: EngineOptions,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the report.")] = False,
    verbose: Verbose = False,
) -> int:
    """Check on this machine, with these models, that speculation changes nothing.

    In exact mode the answers to twenty prompts are compared with those of plain decoding, token by token, greedy and
    sampled. In the default mode a greedy answer may leave the plain one only where rounding explains it. Sampled tokens
    are tested against the distributions of the very passes that drew them, for every accept rule; a right sampler fails
    one run in 10,000, and the smallest bias that would have been seen is printed.

    Exit codes: 0 nothing that was tried failed, 1 a claim does not hold or generation failed, 2 usage, 3 model,
    4 network, 5 storage, 130 stopped with Ctrl-C.
    """
    if models.target is not None and models.draft is None:
        raise UsageError("there is nothing to prove without a draft", "name one with --draft")
    if lookahead == 0:
        raise UsageError("-k 0 is plain decoding: there is nothing to compare it with")

    # Loading NumPy and llama.cpp takes a moment that --help should not.
    from specdesk.cli.chosen_models import choose, engine_settings
    from specdesk.cli.interrupts import stopping
    from specdesk.core.names import DEFAULT_RULE
    from specdesk.engine.client import Engine, StopFlag
    from specdesk.proof.asking import options
    from specdesk.proof.claims import GREEDY, Claim, Verdict, failed
    from specdesk.proof.run import effort, most_claims
    from specdesk.proof.run import prove as proofs
    from specdesk.wording import notes

    chosen = choose(models, engine)
    seed = secrets.randbits(32) if seed is None else seed
    stop = StopFlag()
    loaded: dict[str, Any] = {}
    libraries: set[str] = set()

    def load(exact: bool) -> Engine:
        settings = engine_settings(chosen, engine, lookahead=lookahead, exact=exact, measure=False)
        pair = Engine(settings, say, stop, waiting.now, verbose=verbose)
        drafted = pair.info.lookahead(options(trying, GREEDY, DEFAULT_RULE, 0))
        limit = pair.info.why_no_more(drafted)
        for note in notes(drafted, wanted=lookahead, widest=pair.info.widest, limit=limit):
            say(note)
        loaded["exact" if exact else "default"] = asdict(pair.info)
        libraries.add(pair.info.native.full_name)
        waiting.now(f"{len(claims)} of {n_claims} claims tried ...")
        return pair

    trying = effort(quick=quick, lookahead=lookahead, seed=seed)
    n_claims = most_claims(trying)
    claims: list[Claim] = []
    try:
        with stopping(stop.set), Waiting("loading models ...") as waiting:
            for claim in proofs(load, trying):
                claims.append(claim)
                if not as_json:
                    print(f"{claim.verdict.value:>9}  {claim.name}\n           {claim.summary}", flush=True)  # noqa: T201
                waiting.now(f"{len(claims)} of {n_claims} claims tried ...")
    except Interrupted:
        say(f"stopped after {len(claims)} of {n_claims} claims: no verdict")
        return EXIT_INTERRUPTED
    verdict = Verdict.FAULT if failed(claims) else Verdict.HOLDS
    if as_json:
        record = {
            "verdict": verdict.value,
            "seed": seed,
            "lookahead": lookahead,
            "engine": loaded,
            "claims": [asdict(claim) for claim in claims],
        }
        print(json.dumps(record, allow_nan=False))  # noqa: T201
    else:
        names = " with ".join(path.name for path in (chosen.target, chosen.draft) if path is not None)
        part = ", as far as it was tried" if any(claim.verdict is Verdict.NOT_TRIED for claim in claims) else ""
        computed = " and ".join(sorted(libraries))
        print(f"\n{verdict.value}{part}: {names}, computed by {computed}, -k {lookahead}, --seed {seed}")  # noqa: T201
    return 1 if verdict is Verdict.FAULT else 0
