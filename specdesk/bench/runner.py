"""Has the same conversations plainly and with speculation, turn about, and hands back what each answer took.

What is timed is decoding: from the end of the target's prompt pass to the last token, all that the draft model reads of
the prompt included. The target reads the first prompt of a conversation once, before anything is timed; every run then
finds it in the cache, the plain ones and the others alike.

Before each run everything that earlier ones left for drafting is forgotten: the draft model's cache is emptied, and so
are the index of text seen before and what was learned of acceptance and of the machine's speed. An answer is thus timed
like the first one ever of this pair on this machine: what later ones gain by experience is left out. Within a
conversation of several turns nothing is forgotten, as in a chat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from specdesk.bench.replay import Regret, regret
from specdesk.bench.rows import Mode, Row, by_position, drafting_of
from specdesk.bench.tasks import Prompt
from specdesk.core.answer import Answer
from specdesk.core.events import Event, Finished, Step, StopReason
from specdesk.core.interrupted import Interrupted
from specdesk.core.sampling import Sampling
from specdesk.engine.client import AnswerOptions, Engine, Message
from specdesk.errors import UsageError


@dataclass(frozen=True, slots=True)
class Effort:
    """What is measured."""

    prompts: Sequence[Prompt]
    sampling: Sampling
    seed: int
    lookahead: int | None
    """K of the speculative runs; None: as many as pay."""
    max_tokens: int
    """Of each answer."""
    rounds: int

    @property
    def n_answers(self) -> int:
        """How many answers are timed."""
        return 2 * self.rounds * sum(len(prompt.turns) for prompt in self.prompts)


def measure(engine: Engine, effort: Effort, now: Callable[[str], None]) -> Iterator[Row]:
    """A row for each answer, measured when it is asked for: plain, speculative, plain, ... `now` is told what is done.

    Raises: UsageError, at once, for a conversation that the context may not hold; Interrupted if an answer is stopped;
    else what decoding raises.
    """
    _check_room(engine, effort)
    return _measured(engine, effort, now)


def _measured(engine: Engine, effort: Effort, now: Callable[[str], None]) -> Iterator[Row]:
    for prompt in effort.prompts:
        now(f"{prompt.task}, {prompt.id}: reading the prompt")
        _read(engine, prompt, effort)
        replays = _Replays(engine, effort)
        for number in range(effort.rounds):
            for mode in Mode:
                now(f"{prompt.task}, {prompt.id}: {mode.value}, round {number + 1} of {effort.rounds}")
                engine.forget()
                yield from _converse(engine, prompt, effort, number, mode, replays)


def _converse(
    engine: Engine, prompt: Prompt, effort: Effort, number: int, mode: Mode, replays: _Replays
) -> Iterator[Row]:
    messages: list[Message] = []
    options = _options(effort, mode)
    for turn, question in enumerate(prompt.turns):
        messages.append(Message("user", question))
        answer, steps = _answer(engine, messages, replace(options, answer=turn))
        row = _row(prompt, effort, number, mode, turn, answer, steps)
        # Only a first answer finds the draft's cache known, that is empty; and asking about it would disturb a second.
        if mode is Mode.SPECULATIVE and turn == 0 and len(prompt.turns) == 1:
            row = replace(row, regret=replays.regret(messages, row))
        yield row
        messages.append(Message("assistant", answer.text))


def _row(
    prompt: Prompt, effort: Effort, number: int, mode: Mode, turn: int, answer: Answer, steps: Sequence[Step]
) -> Row:
    tally = answer.tally
    return Row(
        task=prompt.task,
        prompt=prompt.id,
        turn=turn,
        round=number,
        mode=mode,
        seed=effort.seed,
        prompt_tokens=tally.prompt_tokens,
        generated_tokens=tally.generated_tokens,
        decode_s=tally.decode_s,
        draft_s=tally.draft_s,
        target_s=tally.target_s,
        drafted=tally.drafted,
        accepted=tally.accepted,
        rejected=tally.rejected,
        ignored=tally.ignored,
        by_position=by_position(steps),
        steps=tuple(drafting_of(step) for step in steps),
        token_ids=tuple(answer.token_ids),
        stop_reason="" if answer.reason is None else answer.reason.value,
    )


class _Replays:
    """The regret of the answers to one prompt; how likely their tokens stand is asked once for each other answer."""

    def __init__(self, engine: Engine, effort: Effort) -> None:
        self._engine = engine
        self._sampling = effort.sampling
        self._known: dict[tuple[int, ...], list[float] | None] = {}

    def regret(self, messages: Sequence[Message], row: Row) -> Regret | None:
        """None without a draft model, and for a text that it cannot read as a whole."""
        costs = self._engine.info.costs
        if costs is None or costs.draft is None:
            return None
        if row.token_ids not in self._known:
            self._known[row.token_ids] = self._engine.agreement(messages, row.token_ids, self._sampling)
        stands = self._known[row.token_ids]
        return None if stands is None else regret(costs, row.prompt_tokens, stands, row.steps)


def _read(engine: Engine, prompt: Prompt, effort: Effort) -> None:
    """Bring the first prompt into the target's cache."""
    _answer(engine, [Message("user", prompt.turns[0])], replace(_options(effort, Mode.PLAIN), max_tokens=1))


def _options(effort: Effort, mode: Mode) -> AnswerOptions:
    lookahead = 0 if mode is Mode.PLAIN else effort.lookahead
    return AnswerOptions(effort.sampling, effort.seed, lookahead, effort.max_tokens)


def _answer(engine: Engine, messages: Sequence[Message], options: AnswerOptions) -> tuple[Answer, list[Step]]:
    answer = Answer()
    events: list[Event] = list(engine.chat(messages, options))
    for event in events:
        answer.add(event)
    last = events[-1]
    if isinstance(last, Finished) and last.reason is StopReason.CANCELLED:
        raise Interrupted  # half an answer would be timed as a whole one
    return answer, [event for event in events if isinstance(event, Step)]


def _check_room(engine: Engine, effort: Effort) -> None:
    """Say it at once, not after minutes, if a conversation may not fit."""
    for prompt in effort.prompts:
        asked = sum(len(engine.prompt_ids([Message("user", turn)])) for turn in prompt.turns)
        needed = asked + len(prompt.turns) * effort.max_tokens
        if needed > engine.info.n_ctx:
            raise UsageError(
                f"prompt {prompt.id} and its answers may have {needed} tokens, the context holds {engine.info.n_ctx}",
                f"--ctx {needed} would do, or fewer tokens with -n",
            )
