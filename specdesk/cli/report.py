"""What an answer cost and what speculation brought, as a line, as JSON and as trace lines: all from the events."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from specdesk.core.events import Outcome, Step, StopReason
from specdesk.core.tally import Tally
from specdesk.core.verify import PLAIN_PARITY, REJECTION_PARITY
from specdesk.engine.client import AnswerOptions, EngineInfo
from specdesk.errors import StorageError


def summary_line(tally: Tally, reason: StopReason) -> str:
    """The line that ends a run."""
    parts = [f"{tally.generated_tokens} tokens"]
    if tally.tokens_per_pass is not None:
        parts.append(f"{tally.tokens_per_pass:.2f} per target pass")
    if tally.acceptance_rate is not None:
        parts.append(
            f"accepted {tally.accepted} of {tally.accepted + tally.rejected} tested ({tally.acceptance_rate:.0%}; "
            f"{tally.ignored} of {tally.drafted} drafted ignored)"
        )
    if tally.tokens_per_s is not None:
        parts.append(f"{tally.tokens_per_s:.1f} tokens/s")
    parts.append(_speedup(tally))
    if reason is not StopReason.EOG:
        parts.append(
            {
                StopReason.STOP: "ended at a stop string",
                StopReason.LENGTH: "cut at the token limit",
                StopReason.CONTEXT: "cut: the context is full",
                StopReason.CANCELLED: "stopped",
            }[reason]
        )
    return " | ".join(parts)


def _speedup(tally: Tally) -> str:
    if tally.drafted == 0:
        return "plain decoding"
    if tally.speedup is None:
        return "speedup - (too short to judge)"
    line = f"speedup {tally.speedup:.2f}x (plain here: {tally.plain_tokens_per_s:.1f} tokens/s)"
    return line if tally.speedup >= 1 else f"{line}, slower than plain: a smaller -k may help, -k 0 is plain"


def stats_record(tally: Tally) -> dict[str, Any]:
    """The figures of one answer; what could not be measured is None."""
    return {
        "prompt_tokens": tally.prompt_tokens,
        "generated_tokens": tally.generated_tokens,
        "target_passes": tally.target_passes,
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


def settings_record(info: EngineInfo, options: AnswerOptions) -> dict[str, Any]:
    """Every setting as it was honoured."""
    return {
        **asdict(options.sampling),
        "seed": options.seed,
        "lookahead": options.lookahead if info.draft is not None else 0,
        "max_tokens": options.max_tokens,
        "stop": list(options.stop_strings),
        "n_ctx": info.n_ctx,
        "n_threads": info.n_threads,
        "n_gpu_layers": info.target.n_gpu_layers,
        "draft_n_gpu_layers": info.draft.n_gpu_layers if info.draft is not None else None,
    }


class Trace:
    """One JSON line per step, written as it happens, so that a run that dies leaves its trace."""

    def __init__(self, path: Path) -> None:
        """Raises StorageError if the file cannot be written."""
        self._path = path
        try:
            self._file = path.open("w", encoding="utf-8")
        except OSError as error:
            raise StorageError(f"cannot write the trace {path}: {error.strerror}") from error

    def add(self, step: Step, tally: Tally, info: EngineInfo) -> None:
        """Write the step; `tally` has taken it into account already. Raises StorageError if the disk refuses."""
        try:
            self._file.write(json.dumps(trace_record(step, tally, info), ensure_ascii=False) + "\n")
            self._file.flush()
        except OSError as error:
            raise StorageError(f"cannot write the trace {self._path}: {error.strerror}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._file.close()


def trace_record(step: Step, tally: Tally, info: EngineInfo) -> dict[str, Any]:
    """A step in full. Its effective speedup compares it alone with the plain steps so far; None before the first."""
    accepted = sum(token.outcome is Outcome.ACCEPTED for token in step.drafted)
    tested = accepted + sum(token.outcome is Outcome.REJECTED for token in step.drafted)
    plain = tally.plain_tokens_per_s
    return {
        "step": step.index,
        "target_model": info.target.file,
        "draft_model": info.draft.file if info.draft is not None else None,
        "lookahead_k": step.lookahead,
        "lookahead_reason": step.reason,
        "drafter": step.drafter,
        "drafted_tokens": [token.text for token in step.drafted],
        "accepted_stream": [token.text for token in step.tokens],
        "tokens_generated_in_single_target_pass": len(step.tokens),
        "acceptance_rate": accepted / tested if tested else None,
        "effective_latency_speedup": len(step.tokens) / step.step_s / plain if plain and step.step_s > 0 else None,
        "distribution_parity": PLAIN_PARITY if step.plain else REJECTION_PARITY,
        "drafted": [
            {"id": t.id, "text": t.text, "p": t.p, "q": t.q, "decision": t.outcome.value} for t in step.drafted
        ],
        "written": [{"id": t.id, "text": t.text, "p": t.p, "source": t.source.value} for t in step.tokens],
        "draft_s": step.draft_s,
        "target_s": step.target_s,
        "step_s": step.step_s,
    }
