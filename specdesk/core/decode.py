"""The decoding loop: draft, one target pass, verify, cut back. Plain decoding is the same loop with nothing drafted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from specdesk.core.acceptance import Evidence
from specdesk.core.constraint import Constraint, DeadEnd
from specdesk.core.costs import Costs
from specdesk.core.drafters.protocol import Drafter, Draw, Prospect
from specdesk.core.events import (
    Event,
    Finished,
    PromptRead,
    Step,
    StopReason,
)
from specdesk.core.interrupted import Interrupted
from specdesk.core.law import Law
from specdesk.core.lm import LanguageModel, Vocabulary, rewind
from specdesk.core.lookahead import Lookahead, Plan
from specdesk.core.rules import PARITY, PLAIN_PARITY, Rule
from specdesk.core.sampling import Sampling
from specdesk.core.stops import AnswerText
from specdesk.core.target_pass import PassRows, outcomes, taken
from specdesk.core.verify import DraftToken
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
    n_alternatives: int = 0
    """How many of the likeliest tokens in its place each token is to tell."""
    placed: bool = False
    """Whether each token is to tell where it lies in its law: `AnswerToken.ahead` and `favoured`."""

    @property
    def law(self) -> Law:
        """How target and draft are sampled."""
        return Law(self.sampling, self.constraint, len(self.prompt) - self.n_written)


def decode(
    task: Task,
    *,
    target: LanguageModel,
    vocabulary: Vocabulary,
    drafters: Sequence[Drafter],
    lookahead: Lookahead,
    rule: Rule,
    clock: Callable[[], float],
    costs: Costs | None = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Iterator[Event]:
    """Decode one answer; yields PromptRead once or more, then a Step per target pass, then Finished.

    The answer has the distribution of `target` under `task.sampling`, whatever is drafted; a rule in the same state and
    the same drafts give the same answer. What the target's cache already shares with the prompt is not read again.
    Between steps, and when the iterator ends, is closed or raises, the target's cache holds a prefix of prompt plus
    answer, less its last token, and a draft's what it has read of that.

    Before each step `lookahead` chooses one of `drafters`, from the text and what it learned. `clock` counts seconds;
    `costs`, if given, learn from them and tell what plain decoding would take. `cancelled` is asked between passes; a
    model may raise Interrupted inside one.

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
        for drafter in drafters:
            drafter.begin(committed, law)
        index = 0
        while reason is None:
            if cancelled():
                reason = StopReason.CANCELLED
                break
            started = clock()
            depth = len(committed)
            start = depth - law.answer_start
            prospects = _prospects(drafters, committed)
            plan = lookahead.plan(depth, _room(text, target, depth), prospects)
            prospect = None if plan.drafter is None else prospects[plan.drafter]
            offers: list[Evidence] = []
            drafts = _draft(plan, committed, vocabulary, lookahead, partial(_propose, rule, lookahead, start, offers))
            drafted = clock()
            logits = target.extend([committed[-1], *(draft.token for draft in drafts)], 1 + len(drafts))
            passed = clock()
            rows = PassRows(logits, committed, drafts, law, vocabulary)
            verdict = rule.judge(drafts, rows.at, start)
            if 0 in rows.dead_ends:
                raise DeadEnd
            tokens, deltas, reason = taken(
                verdict, drafts, rows, text, vocabulary, placed=task.placed, n_alternatives=task.n_alternatives
            )
            committed.extend(token.id for token in tokens)
            if reason is None and len(committed) > target.n_ctx:
                reason = StopReason.CONTEXT
            _cut_back(target, drafters, len(committed) - 1)
            hindsight = [seen for drafter in drafters for seen in drafter.hindsight(committed)]
            step = Step(
                index=index,
                lookahead=plan.n_draft,
                reason=plan.reason,
                drafter=plan.drafter.name if plan.drafter is not None and drafts else None,
                parity=PARITY[rule.name] if drafts else PLAIN_PARITY,
                drafted=outcomes(drafts, verdict, len(tokens), vocabulary),
                tokens=tuple(tokens),
                deltas=tuple(deltas),
                draft_s=drafted - started,
                target_s=passed - drafted,
                step_s=clock() - started,
                n_draft_passes=_draft_passes(prospect, len(offers)),
            )
            lookahead.learn(step, hindsight)
            if costs is not None:
                _observe(costs, step, depth, prospect)
                step = replace(step, plain_s=costs.plain_s(depth))
            yield step
            index += 1
    except Interrupted:
        reason = StopReason.CANCELLED
    finally:
        _cut_back(target, drafters, len(committed) - 1)
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


def _prospects(drafters: Sequence[Drafter], committed: list[int]) -> dict[Drafter, Prospect]:
    offered = ((drafter, drafter.prospect(committed)) for drafter in drafters)
    return {drafter: prospect for drafter, prospect in offered if prospect is not None}


def _room(text: AnswerText, target: LanguageModel, n_committed: int) -> int:
    """The most tokens worth drafting: a pass over k of them writes up to k + 1 and needs k + 1 cells."""
    room = target.n_ctx - n_committed
    return room if text.n_left is None else min(room, text.n_left - 1)


def _draft(
    plan: Plan, committed: list[int], vocabulary: Vocabulary, lookahead: Lookahead, draw: Draw
) -> list[DraftToken]:
    drafts: list[DraftToken] = []
    if plan.n_draft == 0 or plan.drafter is None:
        return drafts
    for draft in plan.drafter.propose(committed, draw):
        # Every drawn token is kept and tested. Stopping may depend on it; dropping it would bias the answer.
        drafts.append(draft)
        goes_on = lookahead.goes_on(draft)
        if len(drafts) == plan.n_draft or vocabulary.is_eog(draft.token) or not goes_on:
            break
    return drafts


def _propose(
    rule: Rule,
    lookahead: Lookahead,
    start: int,
    offers: list[Evidence],
    q: Distribution,
    index: int,
    evidence: Evidence,
) -> int | None:
    offers.append(evidence)
    return rule.propose(q, start + index) if lookahead.takes(evidence) else None


def _draft_passes(prospect: Prospect | None, n_offered: int) -> int:
    """A draft model takes a pass for each token it offers; what is known before costs none."""
    return 0 if prospect is None or not prospect.n_unread else max(0, n_offered - len(prospect.known))


def _observe(costs: Costs, step: Step, depth: int, prospect: Prospect | None) -> None:
    """Let the costs learn from a step behind `depth` tokens."""
    costs.saw_target(1 + len(step.drafted), depth, step.target_s)
    if prospect is not None and step.n_draft_passes:
        costs.saw_draft(costs.drafting_s(prospect.n_unread, step.n_draft_passes, depth), step.draft_s)
    if step.tokens:
        costs.saw_own(len(step.tokens), step.step_s - step.draft_s - step.target_s)


def _cut_back(target: LanguageModel, drafters: Sequence[Drafter], length: int) -> None:
    if len(target.ids) > length:
        target.truncate(length)
    for drafter in drafters:
        drafter.settle(length)
