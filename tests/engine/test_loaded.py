"""The engine as the other rooms use it: notices, answers, drafting with the target itself, ends inside a block."""

from __future__ import annotations

import math
import threading
from dataclasses import replace

import numpy as np
import pytest
from gguf import GGMLQuantizationType

from specdesk.core.decode import Task
from specdesk.core.events import Event, Finished, Outcome, PromptRead, Source, Step, StopReason
from specdesk.core.interrupted import Interrupted
from specdesk.core.names import RuleName
from specdesk.core.sampling import Sampling
from specdesk.core.tally import Tally
from specdesk.engine import build_limits
from specdesk.engine.cores import best_threads, most_threads
from specdesk.engine.gpus import Gpu, Maker, Seen
from specdesk.engine.llama import LlamaLM
from specdesk.engine.loaded import LoadedPair
from specdesk.engine.message import Message
from specdesk.engine.options import AnswerOptions
from specdesk.engine.stop import StopFlag
from specdesk.engine.vocabulary import LlamaVocabulary
from specdesk.engine.weights import supports_gpu
from specdesk.errors import ModelError, UsageError
from tests.answers import ids as written
from tests.answers import reason, text
from tests.engine.conftest import OpenEngine, OpenLM, WriteModel
from tests.tiny.gguf_models import BYTES, CHAT, CHATML, DRAFT, TARGET, TinyPair
from tests.toy.models import events as decoded

GREEDY = AnswerOptions(Sampling(0.0), seed=0, lookahead=4, max_tokens=200)
TIE = 0.02
"""Passes of up to 16 tokens were seen to move a logit by 0.01; a smaller lead than twice that may flip."""


def assert_equal_but_for_ties(lm: LlamaLM, prompt: list[int], ids: list[int], plain: list[int]) -> None:
    """Up to the first difference; that one must be a tie when the shared text is scored token by token."""
    at = next((i for i, (one, other) in enumerate(zip(ids, plain, strict=True)) if one != other), None)
    if at is None:
        return
    lm.truncate(0)
    for token in [*prompt, *plain[:at]]:
        row = lm.extend([token], 1)[0]
    gap = abs(float(row[ids[at]] - row[plain[at]]))
    assert gap < TIE, f"token {at} differs with a gap of {gap}"


class TestNotices:
    def test_none_when_all_is_honoured(self, write_model: WriteModel, open_engine: OpenEngine) -> None:
        model = replace(TARGET, vocabulary=CHAT, chat_template=CHATML)
        notices: list[str] = []
        engine = open_engine(write_model(model), write_model(replace(DRAFT, vocabulary=CHAT)), notices=notices)
        assert notices == []
        assert engine.info.target.name == "tiny target"
        assert engine.info.target.file == "model0.gguf"
        assert engine.info.draft is not None
        assert engine.info.draft.name == "tiny draft"

    def test_more_threads_than_cores(self, tiny_pair: TinyPair, open_engine: OpenEngine) -> None:
        notices: list[str] = []
        engine = open_engine(tiny_pair.target, n_threads=999, notices=notices)
        assert engine.info.n_threads == most_threads()
        assert any("--threads 999" in notice and f"{most_threads()} threads" in notice for notice in notices)

    @pytest.mark.parametrize(("wanted", "used"), [(None, best_threads()), (1, 1), (most_threads(), most_threads())])
    def test_as_many_threads_as_there_are_cores(
        self, tiny_pair: TinyPair, open_engine: OpenEngine, wanted: int | None, used: int
    ) -> None:
        notices: list[str] = []
        engine = open_engine(tiny_pair.target, n_threads=wanted, notices=notices)
        assert engine.info.n_threads == used
        assert not any("thread" in notice for notice in notices)

    @pytest.mark.skipif(supports_gpu(), reason="this build of llama.cpp has a GPU backend")
    @pytest.mark.parametrize(
        ("layers", "draft_layers", "flag"),
        [
            (8, None, "--gpu-layers 8"),
            (-1, 4, "--gpu-layers -1"),
            (None, 4, "--draft-gpu-layers 4"),
        ],
    )
    @pytest.mark.parametrize(
        ("gpus", "hint"), [((), "shows no GPU"), ((Gpu(Maker.NVIDIA, "RTX", 0),), 'CMAKE_ARGS="-DGGML_CUDA=on" ')]
    )
    def test_layers_for_a_gpu_that_the_build_cannot_use(
        self,
        tiny_pair: TinyPair,
        open_engine: OpenEngine,
        layers: int | None,
        draft_layers: int | None,
        flag: str,
        gpus: tuple[Gpu, ...],
        hint: str,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(build_limits, "seen_gpus", lambda: Seen(gpus))
        with pytest.raises(UsageError) as caught:
            open_engine(tiny_pair.target, tiny_pair.draft, n_gpu_layers=layers, draft_n_gpu_layers=draft_layers)
        assert caught.value.message.startswith(f"{flag}: this build of llama.cpp cannot")
        assert hint in caught.value.hint

    @pytest.mark.skipif(supports_gpu(), reason="this build of llama.cpp has a GPU backend")
    @pytest.mark.parametrize("layers", [None, 0])
    def test_no_layers_on_a_gpu_are_the_processors(
        self, tiny_pair: TinyPair, open_engine: OpenEngine, layers: int | None
    ) -> None:
        engine = open_engine(tiny_pair.target, tiny_pair.draft, n_gpu_layers=layers, draft_n_gpu_layers=layers)
        assert engine.info.target.n_gpu_layers == 0
        assert not engine.info.on_gpu

    @pytest.mark.parametrize(("n_ctx", "n_notices"), [(256, 0), (257, 1)])
    def test_a_context_longer_than_the_model_was_trained_for(
        self, write_model: WriteModel, open_engine: OpenEngine, n_ctx: int, n_notices: int
    ) -> None:
        notices: list[str] = []
        engine = open_engine(write_model(replace(TARGET, n_ctx_train=256)), n_ctx=n_ctx, notices=notices)
        assert engine.info.n_ctx == n_ctx
        said = [notice for notice in notices if f"--ctx {n_ctx}" in notice and "(256)" in notice]
        assert len(said) == n_notices

    def test_a_draft_trained_for_less_than_the_text(self, write_model: WriteModel, open_engine: OpenEngine) -> None:
        """The answer goes on far beyond the draft's context, and drafts go on to be accepted."""
        notices: list[str] = []
        target = write_model(replace(TARGET, n_ctx_train=1024))
        draft = write_model(replace(DRAFT, n_ctx_train=128))
        engine = open_engine(target, draft, n_ctx=1024, notices=notices)
        assert sum("the last 64 to 128 of it" in notice for notice in notices) == 1
        options = AnswerOptions(Sampling(1.0), seed=1, lookahead=3, max_tokens=600)
        steps = [event for event in engine.complete("Once upon", options) if isinstance(event, Step)]
        assert sum(len(step.tokens) for step in steps) == 600
        late = [step for step in steps[len(steps) // 2 :] if step.drafted]
        assert len(late) > 50
        assert sum(step.n_accepted for step in late) > 0.4 * sum(len(step.drafted) for step in late)

    def test_a_model_without_a_chat_template(self, tiny_pair: TinyPair, open_engine: OpenEngine) -> None:
        notices: list[str] = []
        open_engine(tiny_pair.target, notices=notices)
        assert notices == ["tiny target has no chat template: prompts are sent as they are"]


@pytest.mark.parametrize("n_trained", [0, 1, 2, 16])
def test_a_draft_trained_for_next_to_nothing_drafts_nevertheless(
    tiny_pair: TinyPair, write_model: WriteModel, open_engine: OpenEngine, n_trained: int
) -> None:
    """0 is what a file says that does not know it."""
    notices: list[str] = []
    draft = write_model(replace(DRAFT, n_ctx_train=n_trained))
    engine = open_engine(tiny_pair.target, draft, notices=notices)
    options = AnswerOptions(Sampling(0.0), 1, 4, 40)
    steps = [event for event in engine.complete("Once", options) if isinstance(event, Step)]
    assert sum(len(step.drafted) for step in steps) >= 20
    assert any("was trained for" in notice for notice in notices) == (n_trained > 0)


def test_a_target_that_does_not_say_what_it_was_trained_for(write_model: WriteModel, open_engine: OpenEngine) -> None:
    notices: list[str] = []
    engine = open_engine(write_model(replace(TARGET, n_ctx_train=0)), notices=notices)
    assert not any("trained" in notice for notice in notices)
    with pytest.raises(UsageError, match="raise --ctx;"):
        engine.complete("x" * 600, AnswerOptions(Sampling(0.0), 1, 0, 4))


class TestRefusals:
    def test_a_draft_that_cannot_be_loaded(self, tiny_pair: TinyPair, open_engine: OpenEngine) -> None:
        missing = tiny_pair.draft.with_name("missing.gguf")
        with pytest.raises(ModelError, match=r"missing\.gguf"):
            open_engine(tiny_pair.target, missing)

    def test_a_draft_of_another_vocabulary(
        self, tiny_pair: TinyPair, write_model: WriteModel, open_engine: OpenEngine
    ) -> None:
        with pytest.raises(ModelError, match="token 100 "):
            open_engine(tiny_pair.target, write_model(replace(DRAFT, vocabulary=BYTES.swapped(100, 101))))

    @pytest.mark.parametrize("text", ["", "  \n"])
    def test_an_empty_message(self, tiny_pair: TinyPair, open_engine: OpenEngine, text: str) -> None:
        with pytest.raises(UsageError, match="empty"):
            open_engine(tiny_pair.target).chat([Message("user", text)], GREEDY)

    def test_an_empty_raw_prompt(self, tiny_pair: TinyPair, open_engine: OpenEngine) -> None:
        with pytest.raises(UsageError, match="empty"):
            open_engine(tiny_pair.target).complete("", GREEDY)

    def test_a_prompt_longer_than_the_context(self, tiny_pair: TinyPair, open_engine: OpenEngine) -> None:
        with pytest.raises(UsageError, match="the context holds 64"):
            open_engine(tiny_pair.target, n_ctx=64).complete("x" * 64, GREEDY)

    @pytest.mark.parametrize(
        "template",
        [
            "{{ messages[0].role.x.y }}",
            "{% for message in messages %}",
            "{% no_such_tag %}",
            "{% for i in range(10**9) %}{% endfor %}",
            "{{ ''.__class__.__mro__ }}",
            "{{ raise_exception('roles must alternate') }}",
        ],
    )
    def test_a_template_that_fails_when_it_is_used(
        self, write_model: WriteModel, open_engine: OpenEngine, template: str
    ) -> None:
        """The model loads, and answers what needs no template."""
        engine = open_engine(write_model(replace(TARGET, chat_template=template)))
        with pytest.raises(ModelError, match="chat template"):
            engine.chat([Message("user", "Hello")], GREEDY)
        assert reason(engine.complete("Hello", replace(GREEDY, max_tokens=5))) is StopReason.LENGTH


class TestGreedy:
    @pytest.fixture
    def plain(self, tiny_pair: TinyPair, open_engine: OpenEngine) -> list[int]:
        return written(list(open_engine(tiny_pair.target).complete("Once upon", GREEDY)))

    @pytest.mark.parametrize("lookahead", [1, 2, 4, 8])
    def test_with_a_draft_equals_plain(
        self, tiny_pair: TinyPair, open_engine: OpenEngine, open_lm: OpenLM, plain: list[int], lookahead: int
    ) -> None:
        engine = open_engine(tiny_pair.target, tiny_pair.draft)
        seen = list(engine.complete("Once upon", replace(GREEDY, lookahead=lookahead)))
        assert reason(seen) is StopReason.LENGTH
        assert len(written(seen)) == 200
        lm = open_lm(tiny_pair.target)
        prompt = [1, *lm.vocabulary.tokenize("Once upon")]
        assert_equal_but_for_ties(lm, prompt, written(seen), plain)

    def test_drafting_with_the_target_itself(
        self, tiny_pair: TinyPair, open_engine: OpenEngine, open_lm: OpenLM, plain: list[int]
    ) -> None:
        """All is accepted and each full block brings one bonus token: no cache is off by one."""
        engine = open_engine(tiny_pair.target, tiny_pair.target)
        seen = list(engine.complete("Once upon", GREEDY))
        tally = Tally()
        for event in seen:
            tally.add(event)
        assert tally.accepted + tally.rejected > 100
        assert tally.acceptance_rate is not None
        assert tally.acceptance_rate >= 0.99
        for step in seen:
            if isinstance(step, Step) and step.drafted and all(d.outcome is Outcome.ACCEPTED for d in step.drafted):
                sources = [token.source for token in step.tokens]
                assert sources == [Source.ACCEPTED] * len(step.drafted) + [Source.BONUS]
                assert [token.id for token in step.tokens[:-1]] == [draft.id for draft in step.drafted]
        lm = open_lm(tiny_pair.target)
        prompt = [1, *lm.vocabulary.tokenize("Once upon")]
        assert_equal_but_for_ties(lm, prompt, written(seen), plain)


class Ending:
    """A model's vocabulary in which another token ends the answer."""

    def __init__(self, vocabulary: LlamaVocabulary, eog: int) -> None:
        self._vocabulary = vocabulary
        self._eog = eog

    def piece(self, token: int) -> bytes:
        return b"" if token == self._eog else self._vocabulary.piece(token)

    def is_eog(self, token: int) -> bool:
        return token == self._eog


class TestEndInsideABlock:
    K = 4
    PROMPT = "The"
    """The tiny target continues it with 2K + 1 different tokens, each well ahead of the next best."""

    @pytest.fixture
    def pair(self, tiny_pair: TinyPair, open_lm: OpenLM) -> tuple[LlamaLM, LlamaLM]:
        return open_lm(tiny_pair.target), open_lm(tiny_pair.target)

    @pytest.mark.parametrize("position", range(2 * K + 1))
    def test_ends_the_answer_there(self, pair: tuple[LlamaLM, LlamaLM], position: int) -> None:
        target, draft = pair
        prompt = [1, *target.vocabulary.tokenize(self.PROMPT)]
        task = Task(prompt, Sampling(0.0), max_tokens=30)
        plain = written(list(decoded(task, target, None, 0, vocabulary=target.vocabulary)))
        assert len(set(plain[: 2 * self.K + 1])) == 2 * self.K + 1

        vocabulary = Ending(target.vocabulary, plain[position])
        seen = list(decoded(task, target, draft, self.K, vocabulary=vocabulary))
        assert reason(seen) is StopReason.EOG
        assert written(seen) == plain[: position + 1]
        shown = "".join(d.text for event in seen if isinstance(event, Step | Finished) for d in event.deltas)
        before = b"".join(target.vocabulary.piece(token) for token in plain[:position])
        assert shown == before.decode("utf-8", errors="replace")
        ids = prompt + plain[: position + 1]
        for lm in pair:
            assert list(lm.ids) == ids[: len(lm.ids)]
            assert len(lm.ids) < len(ids)
        tally = Tally()
        for event in seen:
            tally.add(event)
        assert tally.generated_tokens == position + 1
        assert tally.rejected == 0
        assert tally.ignored == 0  # nothing is drafted behind an end


class TestConversation:
    def test_the_second_answer_reads_only_what_is_new(self, write_model: WriteModel, open_engine: OpenEngine) -> None:
        model = replace(TARGET, vocabulary=CHAT, chat_template=CHATML)
        engine = open_engine(write_model(model), write_model(replace(DRAFT, vocabulary=CHAT)))
        options = replace(GREEDY, max_tokens=20)
        first = list(engine.chat([Message("user", "Hello")], options))
        answer = "".join(d.text for event in first if isinstance(event, Step | Finished) for d in event.deltas)
        turns = [Message("user", "Hello"), Message("assistant", answer), Message("user", "More")]
        second = list(engine.chat(turns, options))
        assert isinstance(first[0], PromptRead)
        assert isinstance(second[0], PromptRead)
        assert first[0].n_reused == 0
        assert second[0].n_reused >= first[0].n_total

    @pytest.mark.parametrize("template", [CHATML, None])
    def test_an_answer_that_was_stopped_is_gone_on_with(
        self, write_model: WriteModel, open_engine: OpenEngine, template: str | None
    ) -> None:
        """As if it had never stopped: noise belongs to places in the answer, and on one thread passes round alike."""
        model = replace(TARGET, vocabulary=CHAT, chat_template=template, quantization=GGMLQuantizationType.Q8_0)
        engine = open_engine(write_model(model), write_model(replace(DRAFT, vocabulary=CHAT)))
        # Bytes that are no text would not come back as they were, nor would the byte that is a space.
        banned = tuple((3 + byte, -math.inf) for byte in (ord(" "), *range(128, 256)))
        options = replace(GREEDY, sampling=Sampling(1.0, logit_bias=banned), verify=RuleName.COUPLED, max_tokens=30)
        asked = [Message("system", "Be brief."), Message("user", "Hello")]
        whole = text(engine.chat(asked, options))
        begun = Message("assistant", text(engine.chat(asked, replace(options, max_tokens=10))))
        rest = list(engine.chat([*asked, begun], replace(options, max_tokens=20)))
        assert begun.content + text(rest) == whole
        read = next(event for event in rest if isinstance(event, PromptRead))
        assert read.n_reused >= read.n_total - 2

    def test_nothing_is_read_for_the_same_prompt_again(self, tiny_pair: TinyPair, open_engine: OpenEngine) -> None:
        engine = open_engine(tiny_pair.target, tiny_pair.draft)
        answers = [list(engine.complete("Once upon", GREEDY)) for _ in range(2)]
        assert written(answers[0]) == written(answers[1])
        first = answers[1][0]
        assert isinstance(first, PromptRead)
        assert first.n_reused == first.n_read == first.n_total - 1

    def test_progress_of_a_long_prompt(self, tiny_pair: TinyPair, open_engine: OpenEngine) -> None:
        engine = open_engine(tiny_pair.target, n_ctx=2048)
        read = [e for e in engine.complete("x y " * 250, replace(GREEDY, max_tokens=1)) if isinstance(e, PromptRead)]
        assert [event.n_read for event in read] == [0, 256, 512, 768, 1000]
        assert {event.n_total for event in read} == {1001}
        assert list(np.sort([event.elapsed_s for event in read])) == [event.elapsed_s for event in read]


class TestCancel:
    def test_in_the_middle_and_going_on(self, tiny_pair: TinyPair, open_engine: OpenEngine) -> None:
        stop = StopFlag()
        engine = open_engine(tiny_pair.target, tiny_pair.draft, stop=stop)
        seen: list[Event] = []
        for event in engine.complete("Once upon", GREEDY):
            seen.append(event)
            if len(written(seen)) > 20:
                stop.set()
        assert reason(seen) is StopReason.CANCELLED
        assert 20 < len(written(seen)) < 26
        stop.clear()
        again = list(engine.complete("Once upon", GREEDY))
        assert reason(again) is StopReason.LENGTH
        assert written(again)[: len(written(seen))] == written(seen)

    def test_from_another_thread(self, tiny_pair: TinyPair, open_engine: OpenEngine) -> None:
        stop = StopFlag()
        engine = open_engine(tiny_pair.target, tiny_pair.draft, n_ctx=4096, stop=stop)
        under_way = threading.Event()

        def cancel() -> None:
            under_way.wait(60)
            stop.set()

        canceller = threading.Thread(target=cancel, daemon=True)
        canceller.start()
        seen: list[Event] = []
        for event in engine.complete("Once upon", replace(GREEDY, max_tokens=None)):
            seen.append(event)
            under_way.set()
        canceller.join()
        assert reason(seen) is StopReason.CANCELLED

    def test_a_stop_before_it_begins_is_not_lost(self, tiny_pair: TinyPair, open_engine: OpenEngine) -> None:
        stop = StopFlag()
        engine = open_engine(tiny_pair.target, tiny_pair.draft, stop=stop)
        stop.set()
        seen = list(engine.complete("Once upon", GREEDY))
        assert reason(seen) is StopReason.CANCELLED
        assert written(seen) == []

    def test_while_it_loads(self, tiny_pair: TinyPair, open_engine: OpenEngine) -> None:
        stop = StopFlag()
        stop.set()
        with pytest.raises(Interrupted):
            open_engine(tiny_pair.target, tiny_pair.draft, stop=stop)


def test_an_engine_is_closed_on_leaving(tiny_pair: TinyPair, open_engine: OpenEngine) -> None:
    with open_engine(tiny_pair.target, tiny_pair.draft) as engine:
        events = engine.complete("Once upon", GREEDY)
        next(events)
    with pytest.raises(ValueError, match="closed"):
        list(events)
    assert isinstance(engine, LoadedPair)
