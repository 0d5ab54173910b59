"""Measures a target, and drafts one after the other, for `tune`: costs under several settings, and acceptance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self

from specdesk.core.agreement import agreement
from specdesk.core.answer import Answer
from specdesk.core.costs import PassCosts
from specdesk.core.interrupted import Interrupted
from specdesk.core.law import Law
from specdesk.core.restricted import without
from specdesk.core.sampling import Sampling
from specdesk.engine.at_fault import named_at_fault
from specdesk.engine.calibrate import measure
from specdesk.engine.llama import LlamaLM
from specdesk.engine.load_options import LoadOptions
from specdesk.engine.message import Message
from specdesk.engine.native.load import load_weights
from specdesk.engine.options import AnswerOptions
from specdesk.engine.pairing import check_pair
from specdesk.engine.session import Session
from specdesk.engine.stop import StopFlag
from specdesk.errors import GenerationError
from specdesk.memory import CacheType

N_TOKENS: Final = 48
"""Of each answer that drafts are compared with."""
PROBE_SIZES: Final = (1, 5, 8)
"""Tokens of the target passes that are measured under every setting."""

_PROMPTS: Final = (
    "Write a Python function that parses CSV with quoted fields.",
    "Explain what a hash table is to a child of ten.",
    'Give a JSON object for a book with the fields "title", "author", "year" and "tags".',
    "Tell a short story about a lighthouse keeper.",
)
"""Of several kinds, since drafts are right more often about some of them."""
N_PROMPTS: Final = len(_PROMPTS)
_N_CTX: Final = 1024
_LAW: Final = Law(Sampling())
"""Of the acceptance: that of an answer as it is sampled by default."""
_DRAFT_SIZES: Final = (1, 8)


@dataclass(frozen=True, slots=True)
class Sample:
    """An answer of the target, greedy and plain."""

    prompt: Sequence[int]
    answer: Sequence[int]


class TargetTrial:
    """A loaded target; close it, or use it as a context manager. All methods raise Interrupted if stopped."""

    def __init__(self, path: Path, options: LoadOptions, stop: StopFlag) -> None:
        """Raises as `load_weights` does."""
        self._path = path
        self._options = replace(options, n_ctx=min(options.n_ctx, _N_CTX))
        self._stop = stop
        self._weights = load_weights(path, options, stop)

    def samples(self) -> list[Sample]:
        """Answers to some short prompts.

        Raises: UsageError if the context does not hold the prompts; GenerationError if the target says nothing.
        """
        found: list[Sample] = []
        session = Session(LlamaLM(self._path, self._options, self._stop, self._weights), None, self._stop)
        how = AnswerOptions(Sampling(0.0), seed=0, lookahead=0, max_tokens=N_TOKENS)
        try:
            for prompt in _PROMPTS:
                ids = session.chat_ids([Message("user", prompt)])
                answer = Answer()
                for event in session.answer(ids, how):
                    answer.add(event)
                self._check_stop()
                if answer.token_ids:
                    found.append(Sample(ids, answer.token_ids))
        finally:
            session.close()
        if not found:
            raise GenerationError(f"{self._path.name} ends every answer at once", "there is nothing to compare with")
        return found

    def costs(self, n_threads: int, sizes: Sequence[int], cache_type_k: CacheType) -> PassCosts:
        """What passes of `sizes` cost. Raises ModelError for cache types that llama.cpp refuses."""
        options = replace(self._options, n_threads=n_threads, cache_type_k=cache_type_k)
        with LlamaLM(self._path, options, self._stop, self._weights) as lm:
            return measure(lm, sizes, _silent, every_row=True)

    def agreements(self, path: Path, options: LoadOptions, samples: Sequence[Sample]) -> list[list[float]]:
        """How likely each token of each sample would be accepted from a draft model, with the default sampling.

        Raises ModelError for a file that cannot be loaded or does not fit the target; GenerationError for one whose
        logits are no numbers.
        """
        options = replace(options, n_ctx=self._options.n_ctx)
        with (
            LlamaLM(self._path, self._options, self._stop, self._weights) as target,
            LlamaLM(path, options, self._stop) as draft,
        ):
            proposer = without(draft, check_pair(target, draft).banned, target.n_vocab)
            with named_at_fault(self._path, path):
                return [agreement(target, proposer, sample.prompt, sample.answer, _LAW) for sample in samples]

    def close(self) -> None:
        """Free the model."""
        self._weights.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def _check_stop(self) -> None:
        if self._stop.is_set():
            raise Interrupted


def draft_costs(path: Path, options: LoadOptions, counts: Sequence[int], stop: StopFlag) -> dict[int, PassCosts]:
    """What the steps of a draft model cost with each number of threads.

    Raises: ModelError for a file that cannot be loaded; Interrupted if stopped.
    """
    costs: dict[int, PassCosts] = {}
    weights = load_weights(path, options, stop)
    try:
        for n_threads in counts:
            with LlamaLM(path, replace(options, n_ctx=_N_CTX, n_threads=n_threads), stop, weights) as draft:
                costs[n_threads] = measure(draft, _DRAFT_SIZES, _silent, every_row=False)
    finally:
        weights.close()
    return costs


def _silent(_text: str) -> None:
    """How long all of it takes was said before."""
