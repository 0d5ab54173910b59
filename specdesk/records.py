"""An answer as data: the object of --json and the lines of --trace. All of it comes from the events."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import msgspec

from specdesk.core.answer import Answer
from specdesk.core.events import Alternative, AnswerToken, Delta, DraftedToken, Outcome, Source, Step
from specdesk.core.tally import Tally
from specdesk.engine.client import AnswerOptions, EngineInfo


def answer_record(answer: Answer, pair: str | None, info: EngineInfo, options: AnswerOptions) -> dict[str, Any]:
    """The object that --json prints."""
    return {
        "text": answer.text,
        "token_ids": answer.token_ids,
        "stop_reason": answer.reason.value if answer.reason is not None else None,
        "pair": pair,
        "target": info.target.file,
        "draft": _draft(info),
        "settings": settings_record(info, options),
        "left_out": asdict(answer.cut) if answer.cut is not None else None,
        "stats": stats_record(answer.tally),
    }


def settings_record(info: EngineInfo, options: AnswerOptions) -> dict[str, Any]:
    """What an answer was asked with, as it was in force."""
    bias_pairs = options.sampling.logit_bias
    return {
        **asdict(options.sampling),
        # JSON has no infinity.
        "logit_bias": [[token, bias if math.isfinite(bias) else str(bias)] for token, bias in bias_pairs],
        "seed": options.seed,
        "verify": options.verify.value,
        "lookahead": "auto" if options.lookahead is None else info.lookahead(options),
        "most_drafted": info.lookahead(options),
        "drafter": options.drafter.value,
        "repeatable": options.repeatable,
        "max_tokens": options.max_tokens,
        "stop": list(options.stop_strings),
        "overflow": options.overflow.value,
        "grammar": options.grammar,
        "n_ctx": info.n_ctx,
        "n_threads": info.n_threads,
        "n_gpu_layers": info.target.n_gpu_layers,
        "draft_n_gpu_layers": info.draft.n_gpu_layers if info.draft is not None else None,
        "cache_type_k": info.cache.k.value,
        "cache_type_v": info.cache.v.value,
        "main_gpu": info.placing.main_gpu,
        "tensor_split": list(info.placing.tensor_split),
        "load_mode": info.placing.load_mode.value,
        "engine": info.native.value,
        "exact": asdict(info.exact) if info.exact is not None else None,
        "tuned": asdict(info.tuned) if info.tuned is not None else None,
        "drafts_limited_by": info.limit or None,
    }


def step_record(step: Step, tally: Tally, info: EngineInfo) -> dict[str, Any]:
    """A line of the trace; `tally` has taken the step into account already."""
    return {
        "step": step.index,
        "target_model": info.target.file,
        "draft_model": _draft(info),
        "lookahead_k": len(step.drafted),
        "most_drafted": step.lookahead,
        "lookahead_reason": step.reason,
        "drafter": step.drafter,
        "drafted_tokens": [token.text for token in step.drafted],
        "accepted_stream": [token.text for token in step.tokens],
        "tokens_generated_in_single_target_pass": len(step.tokens),
        "acceptance_rate": step.acceptance_rate,
        "effective_latency_speedup": tally.speedup_of(step),
        "distribution_parity": step.parity,
        "drafted": [
            {"id": t.id, "text": t.text, "p": t.p, "q": t.q, "decision": t.outcome.value} for t in step.drafted
        ],
        "written": [
            {
                "id": t.id,
                "text": t.text,
                "p": t.p,
                "ahead": t.ahead,
                "favoured": t.favoured,
                "source": t.source.value,
                "alternatives": [{"id": a.id, "text": a.text, "p": a.p} for a in t.alternatives],
            }
            for t in step.tokens
        ],
        "final": [{"text": delta.text, "source": delta.source.value, "token": delta.token} for delta in step.deltas],
        "draft_s": step.draft_s,
        "target_s": step.target_s,
        "step_s": step.step_s,
        "plain_s": step.plain_s,
    }


def step_of(record: Mapping[str, Any]) -> Step:
    """The step that a line of the trace was made of, as far as it tells.

    What its tokens lead by is not kept, and of older traces not what plain decoding takes.
    Raises: LookupError, TypeError, ValueError or OverflowError for other data.
    """
    step = Step(
        index=record["step"],
        lookahead=record["most_drafted"],
        reason=record["lookahead_reason"],
        drafter=record["drafter"],
        parity=record["distribution_parity"],
        drafted=tuple(
            DraftedToken(t["id"], t["text"], t["q"], t["p"], Outcome(t["decision"])) for t in record["drafted"]
        ),
        tokens=tuple(
            AnswerToken(
                t["id"],
                t["text"],
                Source(t["source"]),
                t["p"],
                t["ahead"],
                t["favoured"],
                alternatives=tuple(Alternative(a["id"], a["text"], a["p"]) for a in t["alternatives"]),
            )
            for t in record["written"]
        ),
        deltas=tuple(Delta(d["text"], Source(d["source"]), d["token"]) for d in record["final"]),
        draft_s=record["draft_s"],
        target_s=record["target_s"],
        step_s=record["step_s"],
        plain_s=record.get("plain_s"),
    )
    if any(delta.token < 0 for delta in step.deltas):
        raise ValueError("tokens are counted from 0")
    # Whatever has come in from outside: a number has to be one.
    return msgspec.convert(msgspec.to_builtins(step), Step)


def _draft(info: EngineInfo) -> str | None:
    return info.draft.file if info.draft is not None else None


def stats_record(tally: Tally) -> dict[str, Any]:
    """The figures of one answer; what could not be measured is None."""
    return {
        "prompt_tokens": tally.prompt_tokens,
        "generated_tokens": tally.generated_tokens,
        "target_passes": tally.target_passes,
        "widths": sorted(tally.widths),
        "tokens_per_pass": tally.tokens_per_pass,
        "drafted": tally.drafted,
        "accepted": tally.accepted,
        "rejected": tally.rejected,
        "ignored": tally.ignored,
        "acceptance_rate": tally.acceptance_rate,
        "prompt_s": tally.prompt_s,
        "decode_s": tally.decode_s,
        "tokens_per_s": tally.tokens_per_s,
        "plain_tokens_per_s": tally.plain_tokens_per_s,
        "speedup": tally.speedup,
    }
