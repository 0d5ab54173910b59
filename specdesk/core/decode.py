"""The decoding loop: draft, one target pass, verify, cut back. Plain decoding is the same loop with nothing drafted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial

from specdesk.core.constraint import Constraint, DeadEnd
from specdesk.core.drafters.protocol import Drafter, Draw
from specdesk.core.events import (
    AnswerToken,
    Delta,
    DraftedToken,
    Event,
    Finished,
    Outcome,
    PromptRead,
    Source,
    Step,
    StopReason,
)
from specdesk.core.interrupted import Interrupted
from specdesk.core.law import Law
from specdesk.core.lm import LanguageModel, Logits, Vocabulary, rewind
from specdesk.core.lookahead import Lookahead
from specdesk.core.rules import PARITY, PLAIN_PARITY, Rule
from specdesk.core.sampling import Sampling
from specdesk.core.stops import AnswerText
from specdesk.core.verify import DraftToken, TargetAt, Verdict
from specdesk.core.warp import Distribution

PROMPT_CHUNK = 256
"""Tokens of a prompt fed per target pass: how often its progress is reported."""


@dataclass(frozen=True, slots=True)
class Task:
    """One answer to decode."""

    prompt: Sequence[int]
    """Token ids (n,), n >= 1."""
    sampling: Sampling
    max_tokens: int | None = None
    """None: until the model ends the answer or the context is full."""
    stop_strings: tuple[str, ...] = ()
    n_written: int = 0
    """Tokens at the end of the prompt that are this answer's own beginning, where one is continued: positions go on
    from there, so that no noise is used twice."""
    constraint: Constraint | None = None
    """What the answer has to keep to."""

    @property
    def law(self) -> Law:
        """How target and draft are sampled."""
        return Law(self.sampling, self.constraint, len(self.prompt) - self.n_written)


def decode(
    task: Task,
    *,
    target: LanguageModel,
    vocabulary: Vocabulary,
    drafter: Drafter,
    lookahead: Lookahead,
    rule: Rule,
    clock: Callable[[], float],
    cancelled: Callable[[], bool] = lambda: False,
) -> Iterator[Event]:
    """Decode one answer; yields PromptRead once or more, then a Step per target pass, then Finished.

    The answer has the distribution of `target` under `task.sampling`, whatever the drafter proposes; a rule in the same
    state gives the same answer. What the target's cache already shares with the prompt is not read again. Between
    steps, and when the iterator ends, is closed or raises, both caches hold a prefix of prompt plus answer, less its
    last token.

    `clock` counts seconds. `cancelled` is asked between passes; a model may raise Interrupted inside one.

    Raises: ValueError for an empty prompt, one that does not fit into the context, a token limit below 1 or an empty
    stop string; FloatingPointError if a model produces unusable logits; DeadEnd where the constraint allows no token.
    Source: Leviathan et al., arXiv:2211.17192, Algorithm 1 and section 2.
    """
    committed = list(task.prompt)
    if not committed:
        raise ValueError("the prompt has no tokens")
    if len(committed) > target.n_ctx:
        raise ValueError(f"the prompt has {len(committed)} tokens, the context holds {target.n_ctx}")
    law = task.law
    text = AnswerText(vocabulary, task.max_tokens, task.stop_strings)
    reason: StopReason | None = None
    try:
        yield from _read_prompt(committed, target, clock, cancelled)
        drafter.begin(committed)
        index = 0
        while reason is None:
            if cancelled():
                reason = StopReason.CANCELLED
                break
            started = clock()
            room = _room(text, target, drafter, len(committed))
            plan = lookahead.plan(index, room)
            start = len(committed) - law.answer_start
            drafts = _draft(drafter, committed, plan.n_draft, vocabulary, partial(_propose, rule, start))
            drafted = clock()
            rows = target.extend([committed[-1], *(draft.token for draft in drafts)], 1 + len(drafts))
            passed = clock()
            dead_ends: set[int] = set()
            target_at = _laws(rows, committed, drafts, law, vocabulary, dead_ends)
            verdict = rule.judge(drafts, target_at, start)
            if 0 in dead_ends:
                raise DeadEnd
            tokens, deltas, reason = _take(verdict, drafts, target_at, text, vocabulary, dead_ends)
            committed.extend(token.id for token in tokens)
            if reason is None and len(committed) > target.n_ctx:
                reason = StopReason.CONTEXT
            _cut_back(target, drafter, len(committed) - 1)
            yield Step(
                index=index,
                lookahead=plan.n_draft,
                reason=plan.reason,
                drafter=drafter.name if drafts else None,
                parity=PARITY[rule.name] if drafts else PLAIN_PARITY,
                drafted=_outcomes(drafts, verdict, len(tokens), vocabulary),
                tokens=tuple(tokens),
                deltas=tuple(deltas),
                draft_s=drafted - started,
                target_s=passed - drafted,
                step_s=clock() - started,
            )
            index += 1
    except Interrupted:
        reason = StopReason.CANCELLED
    finally:
        _cut_back(target, drafter, len(committed) - 1)
    yield Finished(reason, tuple(text.flush()))


def _read_prompt(
    prompt: list[int], target: LanguageModel, clock: Callable[[], float], cancelled: Callable[[], bool]
) -> Iterator[PromptRead]:
    """Bring the cache to all of the prompt but its last token, which the first step feeds."""
    started = clock()
    n_reused = rewind(target, prompt[:-1])
    n_read = n_reused
    yield PromptRead(n_read, len(prompt), n_reused, clock() - started)
    while n_read < len(prompt) - 1 and not cancelled():
        chunk = prompt[n_read : min(n_read + PROMPT_CHUNK, len(prompt) - 1)]
        target.extend(chunk, 0)
        n_read += len(chunk)
        yield PromptRead(n_read, len(prompt), n_reused, clock() - started)


def _room(text: AnswerText, target: LanguageModel, drafter: Drafter, n_committed: int) -> int:
    """The most tokens worth drafting: a pass over k of them writes up to k + 1 and needs k + 1 cells."""
    room = min(target.n_ctx - n_committed, drafter.room(n_committed))
    return room if text.n_left is None else min(room, text.n_left - 1)


def _draft(drafter: Drafter, committed: list[int], n: int, vocabulary: Vocabulary, draw: Draw) -> list[DraftToken]:
    drafts: list[DraftToken] = []
    if n == 0:
        return drafts
    for draft in drafter.propose(committed, draw):
        # Every drawn token is kept and tested. Stopping may depend on it; dropping it would bias the answer.
        drafts.append(draft)
        if len(drafts) == n or vocabulary.is_eog(draft.token):
            break
    return drafts


def _propose(rule: Rule, start: int, q: Distribution, index: int) -> int:
    return rule.propose(q, start + index)


def _laws(
    rows: Logits,
    committed: list[int],
    drafts: list[DraftToken],
    law: Law,
    vocabulary: Vocabulary,
    dead_ends: set[int],
) -> TargetAt:
    """The rows of a pass as distributions, each made once, and only if it is asked for.

    Penalties and constraint see at each row the draft tokens before it and none behind it. A row where the constraint
    allows nothing joins `dead_ends`. It may lie behind a token that will not stand, so it still gets a distribution to
    judge by, that of the logits alone: how likely the text before a row is does not depend on what the row says.
    """
    text = [*committed, *(draft.token for draft in drafts)] if law.reads_text else []
    # What is drawn behind an end token is dropped, and a constraint has nothing to say there.
    ended = bool(drafts) and vocabulary.is_eog(drafts[-1].token)

    def at(row: int) -> Distribution:
        before = text[: len(committed) + row]
        if ended and row == len(drafts):
            return law.unconstrained.at(rows[row], before)
        try:
            return law.at(rows[row], before)
        except DeadEnd:
            dead_ends.add(row)
            return law.unconstrained.at(rows[row], before)

    return cache(at)


def _take(
    verdict: Verdict,
    drafts: list[DraftToken],
    target_at: TargetAt,
    text: AnswerText,
    vocabulary: Vocabulary,
    dead_ends: set[int],
) -> tuple[list[AnswerToken], list[Delta], StopReason | None]:
    """Let the verdict's tokens join the answer one by one, up to the one that ends it, or before a dead end."""
    written = [(test.token, test.p, Source.ACCEPTED) for test in verdict.tests if test.accepted]
    last = Source.PLAIN if not drafts else Source.REPLACEMENT if verdict.rejected else Source.BONUS
    written.append((verdict.token, verdict.p, last))
    tokens: list[AnswerToken] = []
    deltas: list[Delta] = []
    for position, (token, p, source) in enumerate(written):
        law = target_at(position)
        if position in dead_ends:
            break
        final, reason = text.push(token, source)
        favoured = law.favoured(token, drafts[position].q) if position < len(drafts) else None
        tokens.append(AnswerToken(token, _text(token, vocabulary), source, p, law.ahead(token), favoured))
        deltas.extend(final)
        if reason is not None:
            return tokens, deltas, reason
    return tokens, deltas, None


def _outcomes(
    drafts: list[DraftToken], verdict: Verdict, n_taken: int, vocabulary: Vocabulary
) -> tuple[DraftedToken, ...]:
    """What became of each draft token, of which the answer took `n_taken` (its follower counted)."""
    outcomes: list[DraftedToken] = []
    for position, draft in enumerate(drafts):
        test = verdict.tests[position] if position < len(verdict.tests) else None
        if test is None or position >= n_taken:
            outcome = Outcome.IGNORED
        else:
            outcome = Outcome.ACCEPTED if test.accepted else Outcome.REJECTED
        q = draft.q.prob(draft.token)
        p = None if test is None else test.p
        outcomes.append(DraftedToken(draft.token, _text(draft.token, vocabulary), q, p, outcome))
    return tuple(outcomes)


def _text(token: int, vocabulary: Vocabulary) -> str:
    return vocabulary.piece(token).decode("utf-8", errors="replace")


def _cut_back(target: LanguageModel, drafter: Drafter, length: int) -> None:
    if len(target.ids) > length:
        target.truncate(length)
    drafter.settle(length)
