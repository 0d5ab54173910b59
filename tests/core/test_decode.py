"""The loop at its edges: what ends an answer, what is left in the caches, what the events say."""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import pytest

from specdesk.core.acceptance import Evidence
from specdesk.core.costs import Costs, PairCosts
from specdesk.core.decode import Task, _draft_passes
from specdesk.core.drafters.protocol import Drafter, Draw, Prospect
from specdesk.core.drafters.suffix import SuffixDrafter
from specdesk.core.events import Event, Finished, Outcome, PromptRead, Source, Step, StopReason
from specdesk.core.interrupted import Interrupted
from specdesk.core.law import Law
from specdesk.core.lm import Logits
from specdesk.core.lookahead import Plan
from specdesk.core.names import RuleName
from specdesk.core.rules import PARITY, PLAIN_PARITY
from specdesk.core.sampling import Sampling
from specdesk.core.verify import DraftToken
from specdesk.core.warp import certain
from tests.answers import fold, ids, reason
from tests.answers import text as text_of
from tests.toy.costs import flat
from tests.toy.drafters import SURE
from tests.toy.models import ByteVocabulary, EveryStep, ToyLM, events, random_logits, written

GREEDY = Sampling(0.0)
OPEN = Sampling(1.0, 0, 1.0, 0.0)
V = 8


def toy(seed: int = 3, *, noise: float = 0.0, n_ctx: int = 64) -> ToyLM:
    return ToyLM(random_logits(V, seed, scale=3.0, noise=noise), V, n_ctx)


def plain(prompt: Sequence[int], n: int) -> list[int]:
    return ids(events(Task(prompt, GREEDY, n), toy(), None, 0))


class Adversary:
    """Always proposes one token with certainty."""

    name = "adversary"

    def __init__(self, token: int) -> None:
        self._token = token

    def begin(self, committed: Sequence[int], law: Law) -> None: ...

    def prospect(self, committed: Sequence[int]) -> Prospect:
        return Prospect(100, SURE, (SURE,) * 100)

    def propose(self, committed: Sequence[int], draw: Draw) -> Iterator[DraftToken]:
        while True:
            yield DraftToken(self._token, certain(self._token), SURE)

    def hindsight(self, committed: Sequence[int]) -> Sequence[tuple[Evidence, bool]]:
        return ()

    def settle(self, length: int) -> None: ...


@pytest.mark.parametrize("k", [0, 1, 2, 4, 7])
@pytest.mark.parametrize("noise", [0.0, 0.3, 30.0])
def test_every_draft_and_length_writes_the_plain_answer_when_greedy(k: int, noise: float) -> None:
    stream = list(events(Task([1, 2], GREEDY, 20), toy(), toy(noise=noise), k))
    assert ids(stream) == plain([1, 2], 20)
    assert reason(stream) is StopReason.LENGTH


class Listening(EveryStep):
    """Keeps what drafters would have been right about."""

    def __init__(self, k: int) -> None:
        super().__init__(k)
        self.heard: list[tuple[Evidence, bool]] = []

    def learn(self, step: Step, hindsight: Sequence[tuple[Evidence, bool]]) -> None:
        super().learn(step, hindsight)
        self.heard += hindsight


def test_plain_steps_teach_what_a_drafter_would_have_been_right_about() -> None:
    prompt, lookahead = [1, 2], Listening(0)
    answer = ids(events(Task(prompt, GREEDY, 40), toy(), None, 0, drafters=[SuffixDrafter()], lookahead=lookahead))
    told = SuffixDrafter()
    told.begin(prompt, Law(GREEDY))
    wanted = told.hindsight([*prompt, *answer])
    assert {right for _, right in wanted} == {True, False}
    assert lookahead.heard == wanted


def test_a_draft_that_is_the_target_is_always_right() -> None:
    stream = list(events(Task([1], OPEN, 50), toy(), toy(), 4))
    steps = [event for event in stream if isinstance(event, Step)]
    assert {token.outcome for step in steps for token in step.drafted} == {Outcome.ACCEPTED}
    for step in steps[:-1]:
        assert [token.source for token in step.tokens] == [Source.ACCEPTED] * 4 + [Source.BONUS]


@pytest.mark.parametrize("cut", [1, 2, 3])
@pytest.mark.parametrize("k", [0, 1, 2, 4])
@pytest.mark.parametrize("noise", [0.0, 1.0, 30.0])
def test_characters_that_tokens_cut_in_two_are_whole_whatever_is_drafted(cut: int, k: int, noise: float) -> None:
    """Within a block, across blocks, and where one half is refused: after each step the text is that of its bytes."""
    emoji = "🦜".encode()
    pieces = (b"a", emoji[:cut], emoji[cut:], b"z")
    vocabulary = ByteVocabulary({token: pieces[token % 4] for token in range(V)})
    task = Task([1, 2], OPEN, 300)
    decoder, n_outcomes = codecs.getincrementaldecoder("utf-8")("replace"), Counter[Outcome]()
    for event in events(task, toy(n_ctx=400), toy(noise=noise, n_ctx=400), k, vocabulary=vocabulary):
        if isinstance(event, Step):
            n_outcomes.update(token.outcome for token in event.drafted)
            written = b"".join(vocabulary.piece(token.id) for token in event.tokens)
            assert "".join(delta.text for delta in event.deltas) == decoder.decode(written)
        elif isinstance(event, Finished):
            assert "".join(delta.text for delta in event.deltas) == decoder.decode(b"", final=True)
    assert bool(n_outcomes[Outcome.ACCEPTED]) == (k > 0)
    assert bool(n_outcomes[Outcome.REJECTED]) == (k > 0 and noise > 0)


def test_an_adversary_is_never_right_and_changes_nothing() -> None:
    answer = plain([1, 2], 15)
    wrong = next(token for token in range(V) if token not in answer)
    stream = list(events(Task([1, 2], GREEDY, 15), toy(), None, 3, drafter=Adversary(wrong)))
    assert ids(stream) == answer
    tally = fold(stream).tally
    assert tally.accepted == 0
    # One test per step, except the last: with one token to go nothing is drafted.
    assert tally.rejected == 14


@pytest.mark.parametrize("end", range(9))
@pytest.mark.parametrize("k", [1, 2, 4])
def test_an_end_token_ends_the_answer_wherever_it_stands_in_a_block(end: int, k: int) -> None:
    """What plain decoding writes at position `end` becomes the end token; the draft is the target, so all stands."""
    answer = plain([1, 2], 30)
    first = answer.index(answer[end])
    target, draft = toy(), toy()
    vocabulary = ByteVocabulary(eog=[answer[end]])
    stream = list(events(Task([1, 2], GREEDY, 30), target, draft, k, vocabulary=vocabulary))
    assert ids(stream) == answer[: first + 1]
    assert reason(stream) is StopReason.EOG
    text = text_of(stream)
    assert text == "".join(chr(97 + token) for token in answer[:first])
    committed = [1, 2, *answer[: first + 1]]
    assert list(target.ids) == committed[:-1]
    assert list(draft.ids) == committed[: len(draft.ids)]
    assert len(draft.ids) < len(committed)


@pytest.mark.parametrize("n", range(1, 12))
def test_the_limit_is_kept_to_the_token(n: int) -> None:
    stream = list(events(Task([1, 2], GREEDY, n), toy(), toy(), 4))
    assert ids(stream) == plain([1, 2], n)
    # Nothing is drafted that the limit would throw away.
    assert all(token.outcome is Outcome.ACCEPTED for e in stream if isinstance(e, Step) for token in e.drafted)


@pytest.mark.parametrize("n_prompt", [1, 2, 14, 15, 16])
@pytest.mark.parametrize("k", [0, 3])
def test_a_full_context_ends_the_answer(n_prompt: int, k: int) -> None:
    prompt = [1] * n_prompt
    stream = list(events(Task(prompt, GREEDY), toy(n_ctx=16), toy(n_ctx=16), k))
    assert reason(stream) is StopReason.CONTEXT
    assert len(written(iter(stream))) == 16 - n_prompt + 1


def test_a_draft_with_a_smaller_context_stops_drafting_and_nothing_else() -> None:
    draft = toy(noise=0.2, n_ctx=10)
    stream = list(events(Task([1, 2], GREEDY, 30), toy(), draft, 4))
    assert ids(stream) == plain([1, 2], 30)
    assert len(draft.ids) <= 10


def test_a_stop_string_inside_a_block_leaves_nothing_behind() -> None:
    answer = plain([1, 2], 30)
    text = "".join(chr(97 + token) for token in answer)
    stop = text[5:8]
    target = toy()
    stream = list(events(Task([1, 2], GREEDY, 30, (stop,)), target, toy(), 4))
    shown = text_of(stream)
    assert shown == text[: text.index(stop)]
    assert reason(stream) is StopReason.STOP
    n_taken = text.index(stop) + len(stop)
    assert ids(stream) == answer[:n_taken]
    assert list(target.ids) == [1, 2, *answer[: n_taken - 1]]


@pytest.mark.parametrize("temperature", [0.0, 1e-6, 0.01, 1.0, 5.0])
@pytest.mark.parametrize("k", [0, 1, 4])
def test_caches_hold_all_but_the_last_token_after_every_step(temperature: float, k: int) -> None:
    target, draft = toy(), toy(noise=0.5)
    committed = [1, 2, 3]
    for event in events(Task([1, 2, 3], Sampling(temperature, 0, 1.0, 0.0), 25), target, draft, k, seed=4):
        if isinstance(event, Step):
            committed.extend(token.id for token in event.tokens)
            assert list(target.ids) == committed[:-1]
            assert list(draft.ids) == committed[: len(draft.ids)]
            assert len(draft.ids) < len(committed)


@pytest.mark.parametrize("n_steps", range(4))
def test_closing_half_way_leaves_the_caches_usable(n_steps: int) -> None:
    target, draft = toy(), toy(noise=0.5)
    stream = events(Task([1, 2], GREEDY, 30), target, draft, 4)
    seen = []
    for event in stream:
        seen.append(event)
        if sum(isinstance(e, Step) for e in seen) == n_steps:
            break
    stream.close()  # type: ignore[attr-defined]
    kept = [1, 2, *(token.id for token in written(iter(seen)))]
    assert list(target.ids) == kept[: len(target.ids)]
    again = list(events(Task([1, 2], GREEDY, 30), target, draft, 4))
    assert ids(again) == plain([1, 2], 30)


class Failing(ToyLM):
    """Raises in its n-th pass, after having fed the tokens."""

    def __init__(self, fail_at: int, error: BaseException) -> None:
        super().__init__(random_logits(V, 3, scale=3.0), V)
        self._left = fail_at
        self._error = error

    def extend(self, ids: Sequence[int], n_rows: int) -> Logits:
        rows = super().extend(ids, n_rows)
        self._left -= 1
        if self._left == 0:
            raise self._error
        return rows


@pytest.mark.parametrize("fail_at", [1, 2, 3])
@pytest.mark.parametrize("who", ["target", "draft"])
def test_a_model_that_fails_leaves_only_committed_tokens(who: str, fail_at: int) -> None:
    failing = Failing(fail_at, RuntimeError("broken"))
    target, draft = (failing, toy()) if who == "target" else (toy(), failing)
    seen: list[Event] = []
    with pytest.raises(RuntimeError, match="broken"):
        seen.extend(events(Task([1, 2], GREEDY, 30), target, draft, 3))
    for lm in (target, draft):
        answer = [1, 2, *plain([1, 2], 30)]
        assert list(lm.ids) == answer[: len(lm.ids)]


@pytest.mark.parametrize("fail_at", [1, 2, 3])
@pytest.mark.parametrize("who", ["target", "draft"])
def test_an_interrupted_pass_is_a_cancelled_answer(who: str, fail_at: int) -> None:
    failing = Failing(fail_at, Interrupted())
    target, draft = (failing, toy()) if who == "target" else (toy(), failing)
    stream = list(events(Task([1, 2], GREEDY, 30), target, draft, 3))
    assert reason(stream) is StopReason.CANCELLED
    kept = ids(stream)
    assert kept == plain([1, 2], 30)[: len(kept)]
    again = list(events(Task([1, 2], GREEDY, 30), target, draft, 3))
    assert ids(again) == plain([1, 2], 30)


def test_cancelling_between_passes_keeps_what_is_there() -> None:
    calls = iter([False] * 4 + [True] * 9)
    stream = list(events(Task([1, 2], GREEDY, 30), toy(), toy(), 4, cancelled=lambda: next(calls)))
    assert reason(stream) is StopReason.CANCELLED
    kept = ids(stream)
    assert kept
    assert kept == plain([1, 2], 30)[: len(kept)]


def test_a_second_answer_reads_only_what_is_new() -> None:
    target, draft = toy(), toy()
    first = written(events(Task([1, 2, 3], GREEDY, 6), target, draft, 3))
    prompt = [1, 2, 3, *(token.id for token in first), 4, 5]
    stream = list(events(Task(prompt, GREEDY, 6), target, draft, 3))
    assert isinstance(stream[0], PromptRead)
    assert stream[0].n_reused == 3 + len(first) - 1
    assert ids(stream) == plain(prompt, 6)


def test_an_edited_history_is_read_again_from_the_edit() -> None:
    target, draft = toy(), toy()
    list(events(Task([1, 2, 3, 4, 5], GREEDY, 6), target, draft, 3))
    stream = list(events(Task([1, 2, 6, 4, 5], GREEDY, 6), target, draft, 3))
    assert isinstance(stream[0], PromptRead)
    assert stream[0].n_reused == 2
    assert ids(stream) == plain([1, 2, 6, 4, 5], 6)


@pytest.mark.parametrize("prompt", [[], [1] * 65])
def test_prompts_that_cannot_be_read_are_refused_before_anything_is_fed(prompt: list[int]) -> None:
    target = toy()
    with pytest.raises(ValueError, match="prompt"):
        list(events(Task(prompt, GREEDY), target, None, 0))
    assert not target.ids


def test_same_seed_same_answer_and_trace_other_seed_another() -> None:
    def run(seed: int) -> list[Event]:
        return list(events(Task([1, 2], OPEN, 40), toy(), toy(noise=0.5), 4, seed=seed))

    assert run(5) == run(5)
    assert len({tuple(token.id for token in written(iter(run(seed)))) for seed in range(3)}) > 1


def test_an_end_token_ends_the_drafting() -> None:
    target, draft = toy(), toy()
    answer = plain([1, 2], 3)
    vocabulary = ByteVocabulary(eog=[answer[1]])
    steps = [
        e for e in events(Task([1, 2], GREEDY, 30), target, draft, 7, vocabulary=vocabulary) if isinstance(e, Step)
    ]
    assert [token.id for token in steps[0].drafted] == answer[: answer.index(answer[1]) + 1]


@pytest.mark.parametrize("position", range(4))
def test_draft_tokens_behind_the_end_of_the_answer_are_ignored(position: int) -> None:
    """A stop string ends the answer at an accepted token inside a block: what stands behind it counts neither way."""
    answer = plain([1, 2], 5)
    text = "".join(chr(97 + token) for token in answer)
    task = Task([1, 2], GREEDY, 30, (text[: position + 1],))
    (step,) = [event for event in events(task, toy(), toy(), 4) if isinstance(event, Step)]
    accepted, ignored = [Outcome.ACCEPTED] * (position + 1), [Outcome.IGNORED] * (3 - position)
    assert [token.outcome for token in step.drafted] == [*accepted, *ignored]
    assert [token.source for token in step.tokens] == [Source.ACCEPTED] * (position + 1)


def test_times_are_those_of_their_parts() -> None:
    """Each look at the clock is one second later than the one before, and so is each pass of a model."""
    now = [0.0]

    def clock() -> float:
        now[0] += 1
        return now[0]

    class Slow(ToyLM):
        def extend(self, ids: Sequence[int], n_rows: int) -> Logits:
            now[0] += 100 if n_rows > 1 else 10
            return super().extend(ids, n_rows)

    logits = random_logits(V, 3, scale=3.0)
    stream = events(Task([1, 2], GREEDY, 12), Slow(logits, V), Slow(logits, V), 3, clock=clock)
    first = next(event for event in stream if isinstance(event, Step))
    assert (first.draft_s, first.target_s, first.step_s) == (31, 101, 133)


def test_costs_learn_what_each_pass_was_and_took() -> None:
    now = [0.0]
    seen: list[tuple[object, ...]] = []

    def clock() -> float:
        now[0] += 1
        return now[0]

    class Recorder(Costs):
        def saw_target(self, n: int, depth: int, seconds: float) -> None:
            seen.append(("target", n, depth, seconds))

        def drafting_s(self, n_unread: int, n_passes: int, depth: int) -> float:
            seen.append(("draft", n_unread, n_passes, depth))
            return 7.0

        def saw_draft(self, expected_s: float, seconds: float) -> None:
            seen.append(("drafting", expected_s, seconds))

        def saw_own(self, n_tokens: int, seconds: float) -> None:
            seen.append(("own", n_tokens, seconds))

        def plain_s(self, depth: int) -> float:
            return float(depth)

    stream = events(
        Task([1, 2], GREEDY, 24),
        toy(),
        toy(noise=0.5),
        3,
        clock=clock,
        costs=Recorder(PairCosts(flat([1.0] * 7), flat([0.1] * 7))),
    )
    steps = [event for event in stream if isinstance(event, Step)]
    assert any(len(step.tokens) < 1 + len(step.drafted) for step in steps)
    depth, n_read, expected = 2, 0, list[tuple[object, ...]]()
    for step in steps:
        assert step.plain_s == depth
        n = len(step.drafted)
        expected.append(("target", 1 + n, depth, step.target_s))
        if n:
            expected += [("draft", depth - n_read, n, depth), ("drafting", 7.0, step.draft_s)]
            n_read = depth + n - 1
        expected.append(("own", len(step.tokens), step.step_s - step.draft_s - step.target_s))
        depth += len(step.tokens)
        n_read = min(n_read, depth - 1)
    assert seen == expected


def test_what_was_known_beforehand_took_no_pass_of_the_draft() -> None:
    known = Prospect(10, SURE, (SURE, SURE), n_unread=1)
    assert [_draft_passes(known, n) for n in (1, 2, 5)] == [0, 0, 3]
    assert _draft_passes(Prospect(10, SURE, (SURE,) * 10), 5) == 0


def test_a_plain_step_has_no_drafter() -> None:
    steps = [event for event in events(Task([1, 2], GREEDY, 6), toy(), toy(), 4) if isinstance(event, Step)]
    assert [step.drafter for step in steps] == ["model", None]
    assert [step.plain for step in steps] == [False, True]
    assert [step.parity for step in steps] == [PARITY[RuleName.REJECTION], PLAIN_PARITY]


class Unwilling(EveryStep):
    """Takes two tokens of each draft and refuses what is offered then, before it is drawn."""

    def __init__(self) -> None:
        super().__init__(5)
        self._taken = 0

    def plan(self, depth: int, room: int, prospects: Mapping[Drafter, Prospect]) -> Plan:
        self._taken = 0
        return super().plan(depth, room, prospects)

    def takes(self, evidence: Evidence) -> bool:
        self._taken += 1
        return self._taken <= 2


def test_a_token_that_was_offered_and_not_drawn_is_counted() -> None:
    """What a draft model's passes are counted by."""
    steps = [
        event
        for event in events(Task([1, 2, 3], OPEN, 20), toy(), toy(noise=0.3), 5, lookahead=Unwilling())
        if isinstance(event, Step)
    ]
    roomy = [step for step in steps if step.lookahead == 5]
    assert {(step.n_draft_passes, len(step.drafted)) for step in roomy} == {(3, 2)}
    assert steps[-1].n_draft_passes <= 3
    plain_steps = [event for event in events(Task([1, 2, 3], OPEN, 5), toy(), None, 0) if isinstance(event, Step)]
    assert {step.n_draft_passes for step in plain_steps} == {0}
