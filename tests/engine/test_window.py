"""What is left out of a conversation that the context cannot hold; what is sent is answered as if it were all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from specdesk.core.events import Event, HistoryCut, PromptRead, Step, StopReason
from specdesk.core.sampling import Sampling
from specdesk.engine.message import Message
from specdesk.engine.options import AnswerOptions, Overflow
from specdesk.engine.window import characters_left_out, turns_left_out
from specdesk.errors import UsageError
from tests.answers import ids, reason, text
from tests.engine.conftest import OpenEngine, WriteModel
from tests.tiny.gguf_models import CHAT, CHATML, DRAFT, TARGET, TinyPair

N_CTX = 512
ROOM = N_CTX - N_CTX // 8
OPTIONS = AnswerOptions(Sampling(0.0), seed=1, lookahead=4, max_tokens=None, overflow=Overflow.TURNS)
SYSTEM = Message("system", "S" * 10)


def talk(n: int, length: int = 10, *, system: bool = True) -> list[Message]:
    """`n` questions with answers, the last one without; each message of `length` characters."""
    turns = [Message("assistant" if i % 2 else "user", chr(97 + i % 26) * length) for i in range(2 * n - 1)]
    return [SYSTEM, *turns] if system else turns


def size(message: Message) -> int:
    return len(message.content)


def left_out(messages: Sequence[Message], room: int, block: int = 40) -> int | None:
    return turns_left_out(messages, lambda sent: sum(map(size, sent)) <= room, size, block)


class TestTurns:
    def test_nothing_where_all_fits(self) -> None:
        assert left_out(talk(5), 100) == 0
        assert left_out(talk(5, system=False), 90) == 0

    def test_the_system_prompt_stays_and_a_question_comes_first(self) -> None:
        for room in range(30, 190):
            n = left_out(talk(10), room)
            assert n is not None
            assert n % 2 == 0
            assert 10 + (19 - n) * 10 <= room or n == 0

    def test_by_blocks(self) -> None:
        """Over a growing conversation the window seldom moves, and always to the same places."""
        found = [left_out(talk(n), 150) for n in range(1, 60)]
        assert all(n is not None for n in found)
        moves = sorted({n for n in found if n is not None})
        assert found == sorted(found, key=lambda n: n or 0)
        assert moves == list(range(0, max(moves) + 1, 4))

    def test_turn_by_turn_where_a_block_is_too_much(self) -> None:
        assert left_out(talk(3, 30), 40, block=1000) == 4
        assert left_out(talk(3, 30), 100, block=1000) == 2

    def test_a_last_question_that_is_too_long_alone(self) -> None:
        assert left_out(talk(3, 30), 39) is None

    def test_a_conversation_that_begins_with_an_answer(self) -> None:
        assert left_out([Message("assistant", "x" * 50), *talk(1, system=False)], 20) == 1


def test_characters() -> None:
    assert characters_left_out("abcdef", lambda text: len(text) <= 6) == 0
    assert characters_left_out("abcdef", lambda text: len(text) <= 2) == 4
    assert characters_left_out("abcdef", lambda _text: False) is None


class TestOnAModel:
    @pytest.fixture
    def files(self, write_model: WriteModel) -> TinyPair:
        model = replace(TARGET, vocabulary=CHAT, chat_template=CHATML)
        return TinyPair(write_model(model), write_model(replace(DRAFT, vocabulary=CHAT)))

    def test_a_chat_of_one_and_a_half_contexts(self, files: TinyPair, open_engine: OpenEngine) -> None:
        engine = open_engine(files.target, files.draft, n_ctx=N_CTX)
        messages = talk(13, 30)
        assert len(engine.prompt_ids(messages)) > 1.5 * N_CTX
        events = list(engine.chat(messages, OPTIONS))
        cut = events[0]
        assert isinstance(cut, HistoryCut)
        kept = [SYSTEM, *messages[1 + cut.n_messages :]]
        assert kept[1].role == "user"
        assert (cut.n_characters, cut.n_tokens) == (0, 30 * cut.n_messages)
        assert cut.n_sent == len(engine.prompt_ids(kept)) <= ROOM
        fresh = open_engine(files.target, files.draft, n_ctx=N_CTX)
        assert ids(events) == ids(fresh.chat(kept, replace(OPTIONS, overflow=Overflow.REFUSE)))

    def test_the_next_question_finds_its_prompt_read(self, files: TinyPair, open_engine: OpenEngine) -> None:
        engine = open_engine(files.target, files.draft, n_ctx=N_CTX)
        options = replace(OPTIONS, max_tokens=8)
        messages, reused, cuts = talk(1, 20), [], []
        for turn in range(16):
            events = list(engine.chat(messages, options))
            cuts.append(next((event.n_messages for event in events if isinstance(event, HistoryCut)), 0))
            read = next(event for event in events if isinstance(event, PromptRead))
            reused.append(read.n_reused > read.n_total / 2)
            messages += [Message("assistant", text(events)), Message("user", chr(97 + turn) * 20)]
        assert cuts == sorted(cuts)
        assert cuts[-1] > 0
        assert sum(reused) >= 16 - len(set(cuts)), (reused, cuts)

    def test_without_leave_it_is_refused(self, files: TinyPair, open_engine: OpenEngine) -> None:
        engine = open_engine(files.target, n_ctx=N_CTX)
        with pytest.raises(UsageError, match=r"the prompt has \d+ tokens, the context holds 512"):
            engine.chat(talk(13, 30), replace(OPTIONS, overflow=Overflow.REFUSE))

    @pytest.mark.parametrize("length", [600, 100_000])
    def test_a_question_that_is_too_long_alone(self, files: TinyPair, open_engine: OpenEngine, length: int) -> None:
        engine = open_engine(files.target, n_ctx=N_CTX)
        question = Message("user", "".join(chr(97 + i % 26) for i in range(length)))
        messages = [*talk(2)[:-1], question]
        with pytest.raises(UsageError, match=r"the context holds 512|512 tokens can hold"):
            engine.chat(messages, OPTIONS)
        events = list(engine.chat(messages, replace(OPTIONS, overflow=Overflow.TEXT, max_tokens=5)))
        cut = events[0]
        assert isinstance(cut, HistoryCut)
        assert cut.n_messages == 2
        assert cut.n_sent == N_CTX - 5
        kept = [SYSTEM, Message("user", question.content[cut.n_characters :])]
        assert len(engine.prompt_ids(kept)) == cut.n_sent
        assert reason(events) is StopReason.LENGTH

    def test_a_text_without_a_template(self, files: TinyPair, open_engine: OpenEngine) -> None:
        engine = open_engine(files.target, n_ctx=N_CTX)
        options = replace(OPTIONS, overflow=Overflow.TEXT, max_tokens=5)
        events: list[Event] = list(engine.complete("x" * 1000, options))
        assert events[0] == HistoryCut(0, 1000 - (N_CTX - 5 - 1), 1000 - (N_CTX - 5 - 1), N_CTX - 5)
        assert not any(isinstance(event, HistoryCut) for event in engine.complete("x" * 100, options))
        assert any(isinstance(event, Step) for event in events)
