"""What was tried of a pair under several settings, and what was chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specdesk.engine.tuning.tuned import Tuned
from specdesk.memory import CacheType


@dataclass(frozen=True, slots=True)
class FormatTried:
    """A format of the draft, with as many threads as given."""

    format: str | None
    """None: the file as given."""
    n_bytes: int
    draft_step_ms: float
    acceptance: float
    """The mean probability that a token of the samples would be accepted from it."""
    pace: float
    """Expected tokens per second."""


@dataclass(frozen=True, slots=True)
class ThreadsTried:
    """A number of threads, with the draft format that was chosen."""

    n_threads: int
    target_pass_ms: float
    """Of one token."""
    target_pass_of_5_ms: float
    draft_step_ms: float
    pace: float
    """Expected tokens per second."""


@dataclass(frozen=True, slots=True)
class CacheTried:
    """How the target's keys are cached, with the draft and the threads that were chosen."""

    cache_type_k: CacheType
    pace: float
    """Expected tokens per second behind 1,000 tokens."""


@dataclass(frozen=True, slots=True)
class Report:
    """What was tried, and what was chosen."""

    formats: Sequence[FormatTried]
    threads: Sequence[ThreadsTried]
    caches: Sequence[CacheTried]
    tuned: Tuned
    """Nothing, if what was given is the fastest."""
    given_pace: float
    """Expected tokens per second as given, behind 256 tokens."""
    tuned_pace: float
    """The same with the draft and the threads that were chosen."""
