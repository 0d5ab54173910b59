"""Language models small enough that every distribution about them is known exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise, product

import numpy as np
import pytest
from numpy.typing import NDArray

from specdesk.core.candidates import Row
from specdesk.core.chance import Chance, Dice, GumbelNoise
from specdesk.core.constraint import Allowed, Constraint
from specdesk.core.costs import Costs
from specdesk.core.decode import Task, decode
from specdesk.core.drafters.model import ModelDrafter
from specdesk.core.drafters.protocol import Drafter, Prospect
from specdesk.core.events import AnswerToken, Event, Step
from specdesk.core.lm import LanguageModel, Logits, Vocabulary
from specdesk.core.lookahead import FixedLookahead, Lookahead, Plan
from specdesk.core.names import RuleName
from specdesk.core.rules import ByChance, ByNoise, Rule
from specdesk.core.sampling import Sampling
from specdesk.core.warp import Distribution, warp


class ToyLM:
    """Logits are a function of the whole prefix, so a cache that is off by one token gives another distribution."""

    def __init__(
        self, logits_after: Callable[[tuple[int, ...]], Sequence[float]], n_vocab: int, n_ctx: int = 64
    ) -> None:
        self._logits_after = logits_after
        self._n_vocab = n_vocab
        self._n_ctx = n_ctx
        self._ids: list[int] = []
        self._known: dict[tuple[int, ...], Logits] = {}

    @property
    def n_vocab(self) -> int:
        return self._n_vocab

    @property
    def n_ctx(self) -> int:
        return self._n_ctx

    @property
    def ids(self) -> Sequence[int]:
        return self._ids

    def extend(self, ids: Sequence[int], n_rows: int) -> Logits:
        if not 0 <= n_rows <= len(ids):
            raise ValueError(f"{n_rows} rows of {len(ids)}")
        if len(self._ids) + len(ids) > self._n_ctx:
            raise ValueError("does not fit")
        self._ids.extend(ids)
        rows = [self.logits(self._ids[: len(self._ids) - back]) for back in range(n_rows - 1, -1, -1)]
        return np.array(rows, np.float32).reshape(n_rows, self._n_vocab)

    def truncate(self, length: int) -> None:
        if not 0 <= length <= len(self._ids):
            raise ValueError(f"{length} of {len(self._ids)}")
        del self._ids[length:]

    def cut_point(self, length: int) -> int:
        return length

    def logits(self, prefix: Sequence[int]) -> Logits:
        key = tuple(prefix)
        if key not in self._known:
            self._known[key] = np.array(self._logits_after(key), np.float32)
        return self._known[key]


def random_logits(
    n_vocab: int, seed: int, *, scale: float = 1.5, noise: float = 0.0
) -> Callable[[tuple[int, ...]], Sequence[float]]:
    """Normal logits that depend on the whole prefix; `noise` adds that much of another draw: a nearly right draft."""

    def logits_after(prefix: tuple[int, ...]) -> Sequence[float]:
        rows = np.random.default_rng([seed, *prefix]).normal(size=(2, n_vocab))
        return list(scale * (rows[0] + noise * rows[1]))

    return logits_after


class ByteVocabulary:
    """Token i is byte i, or the bytes given; `eog` ends an answer."""

    def __init__(self, pieces: Mapping[int, bytes] | None = None, eog: Sequence[int] = ()) -> None:
        self._pieces = pieces or {}
        self._eog = frozenset(eog)

    def piece(self, token: int) -> bytes:
        return self._pieces.get(token, b"" if token in self._eog else bytes([97 + token]))

    def is_eog(self, token: int) -> bool:
        return token in self._eog


class EveryStep(FixedLookahead):
    """K in every step, and it says why."""

    def plan(self, depth: int, room: int, prospects: Mapping[Drafter, Prospect]) -> Plan:
        return replace(super().plan(depth, room, prospects), reason="test")


def rule_for(name: RuleName, chance: Chance, seed: int | np.random.Generator) -> Rule:
    """The rule; the coupled one takes its noise from the seed, or from the next number of a generator."""
    if name is RuleName.COUPLED:
        return ByNoise(GumbelNoise(seed if isinstance(seed, int) else int(seed.integers(2**63))))
    return ByChance(name, chance)


def events(
    task: Task,
    target: LanguageModel,
    draft: LanguageModel | None,
    k: int,
    *,
    seed: int | np.random.Generator = 0,
    vocabulary: Vocabulary | None = None,
    drafter: Drafter | None = None,
    drafters: Sequence[Drafter] | None = None,
    lookahead: Lookahead | None = None,
    rule: RuleName = RuleName.REJECTION,
    chance: Chance | None = None,
    clock: Callable[[], float] = lambda: 0.0,
    costs: Costs | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Iterator[Event]:
    """Decode with a fixed lookahead of k, or another one; with `draft` or with other drafters."""
    if drafter is None and draft is not None:
        drafter = ModelDrafter(draft)
    if drafters is None:
        drafters = [] if drafter is None else [drafter]
    return decode(
        task,
        target=target,
        vocabulary=vocabulary or ByteVocabulary(),
        drafters=drafters,
        lookahead=lookahead or EveryStep(k),
        rule=rule_for(rule, chance or Dice(np.random.default_rng(seed)), seed),
        clock=clock,
        costs=costs,
        cancelled=cancelled,
    )


def written(stream: Iterator[Event]) -> list[AnswerToken]:
    """The tokens of an answer."""
    return [token for event in stream if isinstance(event, Step) for token in event.tokens]


class TableConstraint:
    """Allows behind a token what a table says of it, and at the beginning what it says of -1."""

    def __init__(self, table: Mapping[int, Sequence[int]]) -> None:
        self._table = table
        self._masks = {token: np.isin(np.arange(max(table) + 1), behind) for token, behind in table.items()}

    def allowed(self, answer: Sequence[int], ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        for before, token in pairwise([-1, *answer]):
            if token not in self._table[before]:
                raise ValueError(f"{token} is not allowed in {answer}")
        mask: NDArray[np.bool_] = self._masks[answer[-1] if answer else -1][ids]
        return mask

    def forced(self, answer: Sequence[int]) -> list[int]:
        forced: list[int] = []
        while len(forced) < 9 and len(only := self._table[[-1, *answer, *forced][-1]]) == 1:
            forced.extend(only)
        return forced


def remember_laws(monkeypatch: pytest.MonkeyPatch, n_vocab: int) -> None:
    """Have `warp` compute each distribution once: tens of thousands of answers see the same few."""
    known: dict[object, Distribution] = {}
    everything = np.arange(n_vocab)

    def remembered(
        row: Row, sampling: Sampling, seen: Sequence[int] = (), allowed: Allowed | None = None
    ) -> Distribution:
        key = (row.tobytes(), sampling, tuple(seen), None if allowed is None else allowed(everything).tobytes())
        if key not in known:
            known[key] = warp(row, sampling, seen, allowed)
        return known[key]

    monkeypatch.setattr("specdesk.core.law.warp", remembered)


def joint_law(
    lm: ToyLM, prompt: Sequence[int], sampling: Sampling, length: int, constraint: Constraint | None = None
) -> dict[tuple[int, ...], float]:
    """Probability of every sequence of `length` tokens behind `prompt`, by enumeration."""
    law: dict[tuple[int, ...], float] = {}
    for path in product(range(lm.n_vocab), repeat=length):
        p = 1.0
        for at, token in enumerate(path):
            if p > 0:
                allowed = None if constraint is None else partial(constraint.allowed, path[:at])
                text = [*prompt, *path[:at]]
                p *= warp(lm.logits(text), sampling, sampling.seen(text), allowed).prob(token)
        law[path] = p
    return law
