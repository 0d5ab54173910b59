"""Prompts as token ids, and answers that leave both caches where the next one can go on."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

from specdesk.core.events import Delta, Event, Finished, Outcome, PromptRead, Source, Step, StopReason
from specdesk.core.lm import Logits
from specdesk.core.names import RuleName
from specdesk.core.sampling import Sampling
from specdesk.engine.llama import N_BATCH
from specdesk.engine.message import Message
from specdesk.engine.options import AnswerOptions
from specdesk.engine.session import Session
from specdesk.errors import GenerationError, UsageError
from tests.answers import ids as written
from tests.answers import reason, text
from tests.engine.conftest import N_CTX, OpenEngine, OpenSession, WriteModel
from tests.tiny.gguf_models import CHAT, CHATML, DRAFT, RWKV, TARGET, TinyPair

BOS = 1
HELLO = [Message("user", "Hello")]
WARM = AnswerOptions(Sampling(1.0, 0, 1.0, 0.0), seed=7, lookahead=4, max_tokens=60)


def assert_caches_hold_a_prefix(session: Session, ids: Sequence[int]) -> None:
    """Of prompt and answer, and at most all but the last token."""
    lms = [lm for lm in (session.target, session.draft) if lm is not None]
    for lm in lms:
        assert len(lm.ids) < len(ids)
        assert list(lm.ids) == list(ids[: len(lm.ids)])


@pytest.fixture
def session(tiny_pair: TinyPair, open_session: OpenSession) -> Session:
    return open_session(tiny_pair.target, tiny_pair.draft)


class TestBeginningOfText:
    @pytest.mark.parametrize("add_bos", [None, True, False])
    @pytest.mark.parametrize("in_template", [False, True])
    def test_never_twice(
        self, write_model: WriteModel, open_session: OpenSession, add_bos: bool | None, in_template: bool
    ) -> None:
        template = "{{ bos_token }}" * in_template + CHATML
        model = replace(TARGET, vocabulary=CHAT, chat_template=template, add_bos=add_bos)
        session = open_session(write_model(model), None)
        ids = session.chat_ids(HELLO)
        assert ids.count(BOS) == (1 if in_template or add_bos is not False else 0)
        assert BOS not in ids[1:]
        without = open_session(write_model(replace(model, chat_template=CHATML, add_bos=False)), None)
        assert [token for token in ids if token != BOS] == without.chat_ids(HELLO)

    @pytest.mark.parametrize(("add_bos", "front"), [(None, [BOS]), (False, [])])
    def test_of_a_raw_prompt(
        self, write_model: WriteModel, open_session: OpenSession, add_bos: bool | None, front: list[int]
    ) -> None:
        session = open_session(write_model(replace(TARGET, add_bos=add_bos)), None)
        hi = session.target.vocabulary.tokenize("hi")
        assert session.raw_ids("hi") == front + hi
        assert session.raw_ids("<s>hi") == [BOS, *hi]
        assert session.raw_ids("") == front

    @pytest.mark.parametrize("add_bos", [None, True])
    def test_of_a_model_that_has_none(
        self, write_model: WriteModel, open_session: OpenSession, add_bos: bool | None
    ) -> None:
        """Some files ask for a BOS and do not say which."""
        model = replace(
            TARGET, vocabulary=RWKV, add_bos=add_bos, chat_template="{{ bos_token }}{{ messages[0].content }}"
        )
        session = open_session(write_model(model), None)
        assert session.raw_ids("hi") == [ord("h"), ord("i")]
        assert session.chat_ids([Message("user", "hi")]) == [ord("h"), ord("i")]

    def test_the_same_ids_reach_both_models(self, write_model: WriteModel, open_session: OpenSession) -> None:
        """The draft's own wish for a BOS does not count: it continues the target's text."""
        session = open_session(write_model(TARGET), write_model(replace(DRAFT, add_bos=False)))
        prompt = session.raw_ids("Once upon")
        ids = prompt + written(list(session.answer(prompt, WARM)))
        assert session.draft is not None
        assert list(session.draft.ids[: len(prompt)]) == prompt
        assert_caches_hold_a_prefix(session, ids)


class TestPrompts:
    def test_a_chat_goes_through_the_model_s_template(self, write_model: WriteModel, open_session: OpenSession) -> None:
        session = open_session(write_model(replace(TARGET, vocabulary=CHAT, chat_template=CHATML)), None)
        vocabulary = session.target.vocabulary
        ids = session.chat_ids(HELLO)
        said = b"".join(vocabulary.text(t) if not vocabulary.piece(t) else vocabulary.piece(t) for t in ids)
        assert said == b"<s><|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"

    def test_without_a_template_the_messages_are_the_prompt(self, session: Session) -> None:
        messages = [Message("user", "first"), Message("assistant", "second"), Message("user", "third")]
        assert session.chat_ids(messages) == session.raw_ids("first\n\nsecond\n\nthird")

    def test_empty(self, session: Session) -> None:
        with pytest.raises(UsageError, match="empty"):
            session.answer([], WARM)

    def test_longer_than_the_context(self, session: Session) -> None:
        with pytest.raises(UsageError, match=f"{N_CTX + 1} tokens, the context holds {N_CTX}") as refusal:
            session.answer([5] * (N_CTX + 1), WARM)
        assert str(session.target.weights.n_ctx_train) in refusal.value.hint

    @pytest.mark.parametrize("n", [N_CTX, N_CTX - 1, N_CTX - 3])
    def test_as_long_as_the_context(self, session: Session, n: int) -> None:
        """A full cache still scores one token more, which is never fed."""
        prompt = [5 + i % 90 for i in range(n)]
        events = list(session.answer(prompt, replace(WARM, max_tokens=None)))
        assert reason(events) is StopReason.CONTEXT
        assert len(written(events)) == N_CTX - n + 1
        assert_caches_hold_a_prefix(session, prompt + written(events))


class TestAnswers:
    def test_speculation_really_happens(self, session: Session) -> None:
        """The tiny draft is neither perfect nor useless, so these tests see acceptances and rejections."""
        events = list(session.answer(session.raw_ids("Once upon"), replace(WARM, max_tokens=300)))
        drafted = [token.outcome for event in events if isinstance(event, Step) for token in event.drafted]
        accepted, rejected = drafted.count(Outcome.ACCEPTED), drafted.count(Outcome.REJECTED)
        assert 0.6 < accepted / (accepted + rejected) < 0.9
        sources = {token.source for event in events if isinstance(event, Step) for token in event.tokens}
        assert sources == set(Source) - {Source.PLAIN}

    @pytest.mark.parametrize("lookahead", [0, 1, 4, 9])
    def test_the_text_is_the_decoded_bytes_of_all_tokens(self, session: Session, lookahead: int) -> None:
        """The tiny model writes halves of characters in every mixture of accepted and rejected tokens."""
        prompt = session.raw_ids("Once upon")
        events = list(session.answer(prompt, replace(WARM, max_tokens=250, lookahead=lookahead)))
        data = b"".join(session.target.vocabulary.piece(token) for token in written(events))
        assert text(events) == data.decode("utf-8", errors="replace")
        assert any(byte >= 0x80 for byte in data)
        assert len(written(events)) == 250
        assert reason(events) is StopReason.LENGTH

    @pytest.mark.parametrize("lookahead", [0, 4])
    def test_the_seed_decides(self, session: Session, lookahead: int) -> None:
        options = replace(WARM, lookahead=lookahead)
        prompt = session.raw_ids("Once upon")

        def answer(seed: int) -> list[int]:
            session.target.truncate(0)
            return written(list(session.answer(prompt, replace(options, seed=seed))))

        assert answer(7) == answer(7)
        assert len({tuple(answer(seed)) for seed in range(3)}) == 3

    def test_without_a_draft_any_lookahead_is_plain(self, tiny_pair: TinyPair, open_session: OpenSession) -> None:
        alone = open_session(tiny_pair.target, None)
        steps = [event for event in alone.answer(alone.raw_ids("Once"), WARM) if isinstance(event, Step)]
        assert all(step.plain and step.drafter is None and len(step.tokens) == 1 for step in steps)

    def test_a_stop_string_is_not_shown(self, session: Session) -> None:
        prompt = session.raw_ids("Once upon")
        greedy = AnswerOptions(Sampling(0.0), seed=0, lookahead=4, max_tokens=60)
        whole = text(list(session.answer(prompt, greedy)))
        stop = whole[20:23]
        events = list(session.answer(prompt, replace(greedy, stop_strings=(stop,))))
        assert reason(events) is StopReason.STOP
        assert text(events) == whole[: whole.index(stop)]
        assert_caches_hold_a_prefix(session, prompt + written(events))


class TestCaches:
    @pytest.mark.parametrize("lookahead", [0, 1, 4])
    def test_after_every_step_all_but_the_last_token(self, session: Session, lookahead: int) -> None:
        ids = session.raw_ids("Once upon")
        for event in session.answer(ids, replace(WARM, lookahead=lookahead)):
            if isinstance(event, Step):
                ids = ids + [token.id for token in event.tokens]
                assert list(session.target.ids) == ids[:-1]
                assert_caches_hold_a_prefix(session, ids)

    @pytest.mark.parametrize("n_steps", [0, 1, 2, 5])
    def test_of_a_generator_closed_half_way(self, session: Session, n_steps: int) -> None:
        ids = session.raw_ids("Once upon a time")
        events = session.answer(ids, WARM)
        n_seen = 0
        for event in events:
            n_seen += isinstance(event, Step)
            ids = ids + written([event])
            if n_seen == n_steps:
                break
        assert isinstance(events, Iterator)
        events.close()  # type: ignore[attr-defined]
        assert_caches_hold_a_prefix(session, ids)
        again = list(session.answer(ids, WARM))
        assert len(written(again)) == WARM.max_tokens

    def test_the_next_answer_reads_only_what_is_new(self, session: Session) -> None:
        prompt = session.raw_ids("Once upon a time")
        ids = prompt + written(list(session.answer(prompt, WARM)))
        longer = ids + session.target.vocabulary.tokenize(" And then?")
        events = list(session.answer(longer, WARM))
        read = [event for event in events if isinstance(event, PromptRead)]
        assert {event.n_reused for event in read} == {len(ids) - 1}
        assert read[-1].n_read == len(longer) - 1
        assert read[-1].n_total == len(longer)
        assert_caches_hold_a_prefix(session, longer + written(events))

    def test_another_conversation_keeps_what_it_shares(self, session: Session) -> None:
        one, other = session.raw_ids("Once upon a time"), session.raw_ids("Once upon a hill")
        list(session.answer(one, WARM))
        first = next(session.answer(other, WARM))
        assert isinstance(first, PromptRead)
        assert first.n_reused == len(session.raw_ids("Once upon a "))

    def test_an_answer_from_a_reused_cache_equals_one_from_an_empty_cache(
        self, session: Session, tiny_pair: TinyPair, open_session: OpenSession
    ) -> None:
        greedy = AnswerOptions(Sampling(0.0), seed=0, lookahead=4, max_tokens=40)
        prompt = session.raw_ids("Once upon a time")
        list(session.answer(prompt[:6] + prompt[2:], WARM))
        cold = open_session(tiny_pair.target, tiny_pair.draft)
        assert written(list(session.answer(prompt, greedy))) == written(list(cold.answer(prompt, greedy)))


class TestCancelling:
    def test_while_the_prompt_is_read(self, tiny_pair: TinyPair, open_session: OpenSession) -> None:
        session = open_session(tiny_pair.target, tiny_pair.draft, n_ctx=8192)
        prompt = [5 + i * 37 % 250 for i in range(6000)]

        def stop_once_it_reads() -> None:
            while len(session.target.ids) < N_BATCH:
                pass
            session._stop.set()

        events = session.answer(prompt, WARM)
        stopper = threading.Thread(target=stop_once_it_reads, daemon=True)
        stopper.start()
        seen = list(events)
        stopper.join()
        assert reason(seen) is StopReason.CANCELLED
        assert written(seen) == []
        assert N_BATCH <= len(session.target.ids) < len(prompt) - 1
        assert_caches_hold_a_prefix(session, prompt)

    def test_between_two_steps(self, session: Session) -> None:
        prompt = session.raw_ids("Once upon")
        seen: list[Event] = []
        for event in session.answer(prompt, WARM):
            seen.append(event)
            if len(written(seen)) > 10:
                session._stop.set()
        assert reason(seen) is StopReason.CANCELLED
        assert 10 < len(written(seen)) < 16
        assert_caches_hold_a_prefix(session, prompt + written(seen))

    @pytest.mark.parametrize(("who", "call"), [("target", 1), ("target", 4), ("draft", 1), ("draft", 7)])
    def test_inside_a_pass(self, session: Session, monkeypatch: pytest.MonkeyPatch, who: str, call: int) -> None:
        """The flag is set behind the question whether to go on, so that the native pass itself must see it.

        The first pass of either reads the prompt; the later ones are in the middle of a block.
        """
        prompt = session.raw_ids("Once upon")
        lm = session.target if who == "target" else session.draft
        assert lm is not None
        extend, n_calls = lm.extend, 0

        def stopping(ids: Sequence[int], n_rows: int) -> object:
            nonlocal n_calls
            n_calls += 1
            if n_calls == call:
                session._stop.set()
            return extend(ids, n_rows)

        monkeypatch.setattr(lm, "extend", stopping)
        seen = list(session.answer(prompt, WARM))
        assert reason(seen) is StopReason.CANCELLED
        assert n_calls == call
        ids = prompt + written(seen)
        assert_caches_hold_a_prefix(session, ids)
        monkeypatch.undo()
        session._stop.clear()
        assert reason(list(session.answer(ids, WARM))) is StopReason.LENGTH

    def test_text_held_back_is_given_out(self, session: Session) -> None:
        prompt = session.raw_ids("Once upon")
        seen: list[Event] = []
        for event in session.answer(prompt, replace(WARM, max_tokens=None, stop_strings=("\0never\0",))):
            seen.append(event)
            if len(written(seen)) > 30:
                session._stop.set()
        data = b"".join(session.target.vocabulary.piece(token) for token in written(seen))
        assert text(seen) == data.decode("utf-8", errors="replace")


def test_deltas_say_who_wrote_them(session: Session) -> None:
    events = list(session.answer(session.raw_ids("Once upon"), WARM))
    deltas = [delta for event in events if isinstance(event, Step | Finished) for delta in event.deltas]
    assert all(isinstance(delta, Delta) and delta.text for delta in deltas)
    assert {delta.source for delta in deltas} >= {Source.ACCEPTED, Source.BONUS}


def test_logits_that_are_no_numbers_are_the_model_s_fault(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(ids: Sequence[int], n_rows: int) -> Logits:
        return np.full((n_rows, session.target.n_vocab), np.nan, np.float32)

    monkeypatch.setattr(session.target, "extend", broken)
    with pytest.raises(GenerationError, match=r"target\.gguf: .*unusable logits"):
        list(session.answer(session.raw_ids("Once"), WARM))


def test_so_they_are_where_an_answer_is_read_again(
    tiny_pair: TinyPair, open_engine: OpenEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = open_engine(tiny_pair.target, tiny_pair.draft)
    draft = engine._session.draft
    assert draft is not None
    rows = np.full((2, draft.n_vocab), np.nan, np.float32)
    monkeypatch.setattr(draft, "extend", lambda _ids, n_rows: rows[:n_rows])
    with pytest.raises(GenerationError, match=r"draft\.gguf: .*unusable logits"):
        engine.agreement([Message("user", "Once")], [40, 41], Sampling(0.0))


def test_those_of_the_draft_are_the_draft_s_fault(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    draft = session.draft
    assert draft is not None

    def broken(ids: Sequence[int], n_rows: int) -> Logits:
        return np.full((n_rows, draft.n_vocab), np.nan, np.float32)

    monkeypatch.setattr(draft, "extend", broken)
    with pytest.raises(GenerationError, match=r"draft\.gguf: .*unusable logits") as caught:
        list(session.answer(session.raw_ids("Once"), WARM))
    assert "-k 0" in caught.value.hint


@pytest.mark.parametrize("k", [0, 3])
def test_a_continued_answer_goes_on_with_its_own_noise_and_grammar(
    quantized_pair: TinyPair, open_session: OpenSession, k: int
) -> None:
    """As if it had not been cut: same positions, same place in the grammar. One thread: every pass rounds alike."""
    session = open_session(quantized_pair.target, quantized_pair.draft)
    options = AnswerOptions(
        Sampling(1.0), 5, 0, verify=RuleName.COUPLED, answer=3, grammar='root ::= [a-z]{12} "." [0-9]{12}'
    )
    prompt = session.raw_ids("Hello")
    whole = written(session.answer(prompt, options))
    assert len(whole) >= 20
    for cut in (1, 7, 14):
        rest = replace(options, n_written=cut, lookahead=k)
        assert written(session.answer([*prompt, *whole[:cut]], rest)) == whole[cut:]


def test_the_number_of_an_answer_goes_into_its_random_numbers(tiny_pair: TinyPair, open_session: OpenSession) -> None:
    session = open_session(tiny_pair.target, tiny_pair.draft)
    for rule in RuleName:
        options = AnswerOptions(Sampling(1.0), 5, 2, 30, verify=rule)
        answers = [written(session.answer([1, 70, 71], replace(options, answer=number))) for number in (0, 1, 2, 1)]
        assert answers[1] == answers[3]
        assert len({tuple(answer) for answer in answers}) == 3


def test_a_grammar_is_freed_when_another_takes_its_place(tiny_pair: TinyPair, open_session: OpenSession) -> None:
    session = open_session(tiny_pair.target, tiny_pair.draft)
    options = AnswerOptions(Sampling(1.0), 5, 2, 30, grammar='root ::= "a"')
    list(session.answer([1, 70, 71], options))
    assert session._grammar is not None
    first = session._grammar[1]
    list(session.answer([1, 70, 71], options))
    assert session._grammar[1] is first
    list(session.answer([1, 70, 71], replace(options, grammar='root ::= "b"')))
    second = session._grammar[1]
    session.close()
    for grammar in (first, second):
        with pytest.raises(ValueError, match="closed"):
            grammar.forced([])


@pytest.mark.parametrize(("n_written", "answer"), [(-1, 0), (4, 0), (0, -1)])
def test_numbers_of_an_answer_that_cannot_be_are_refused(
    tiny_pair: TinyPair, open_session: OpenSession, n_written: int, answer: int
) -> None:
    options = AnswerOptions(Sampling(1.0), 5, 2, 3, answer=answer, n_written=n_written)
    with pytest.raises(ValueError, match="answer"):
        open_session(tiny_pair.target, None).answer([1, 70, 71], options)


def test_a_closed_session_answers_nothing(tiny_pair: TinyPair, open_session: OpenSession) -> None:
    """llama.cpp would end the process."""
    session = open_session(tiny_pair.target, None)
    session.close()
    with pytest.raises(ValueError, match="closed"):
        session.raw_ids("Hello")


def test_what_is_forgotten_is_drafted_as_for_a_first_answer(session: Session) -> None:
    prompt = session.chat_ids(HELLO)
    first = [event for event in session.answer(prompt, WARM) if isinstance(event, Step)]
    assert session.draft is not None
    assert session.draft.ids
    session.forget()
    assert not session.draft.ids
    assert len(session.target.ids) >= len(prompt) - 1
    again = list(session.answer(prompt, WARM))
    assert isinstance(again[0], PromptRead)
    assert again[0].n_reused == len(prompt) - 1
    steps = [event for event in again if isinstance(event, Step)]
    assert [step.drafted for step in steps] == [step.drafted for step in first]


def test_without_a_draft_there_is_little_to_forget(tiny_pair: TinyPair, open_session: OpenSession) -> None:
    open_session(tiny_pair.target, None).forget()


@pytest.mark.parametrize("lookahead", [0, 3])
def test_tokens_tell_what_else_might_have_stood_there(
    tiny_pair: TinyPair, open_session: OpenSession, lookahead: int
) -> None:
    session = open_session(tiny_pair.target, tiny_pair.draft)
    options = AnswerOptions(Sampling(1.0), 5, lookahead, 30, n_alternatives=4)
    steps = [e for e in session.answer(session.raw_ids("Once"), options) if isinstance(e, Step)]
    tokens = [token for step in steps for token in step.tokens]
    for token in tokens:
        assert len(token.alternatives) <= 4
        probabilities = [alternative.p for alternative in token.alternatives]
        assert probabilities == sorted(probabilities, reverse=True)
        own = [alternative.p for alternative in token.alternatives if alternative.id == token.id]
        assert own == [token.p] or token.p <= probabilities[-1]
    assert any(len(token.alternatives) == 4 for token in tokens)
    deltas = [delta for step in steps for delta in step.deltas]
    assert [delta.token for delta in deltas] == sorted(delta.token for delta in deltas)
    assert all(delta.text.endswith(tokens[delta.token].text) or "�" in tokens[delta.token].text for delta in deltas)
    plain = session.answer(session.raw_ids("Once"), replace(options, n_alternatives=0))
    assert all(not token.alternatives for e in plain if isinstance(e, Step) for token in e.tokens)
