"""Models whose caches cannot be cut back, or only while nothing is lost: what is tried, refused, and done instead."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import llama_cpp
import numpy as np
import pytest

from specdesk.core.sampling import Sampling
from specdesk.core.tally import Tally
from specdesk.engine.loaded import LoadedPair
from specdesk.engine.message import Message
from specdesk.engine.options import AnswerOptions
from specdesk.engine.rollback import most_cut
from specdesk.engine.stop import StopFlag
from specdesk.errors import ModelError
from specdesk.hub.here.local_models import look_at, verdict
from specdesk.settings import EngineSettings
from tests.answers import ids as written
from tests.answers import text
from tests.contracts import LanguageModelContract, MakeLM
from tests.engine.conftest import OpenLM, OpenSession, WriteModel
from tests.engine.test_loaded import assert_equal_but_for_ties
from tests.tiny.gguf_models import CHAT, CHATML, DRAFT, EXPERTS, GEMMA, MAMBA, TARGET, TinyPair
from tests.toy.models import ToyLM, random_logits

GREEDY = AnswerOptions(Sampling(0.0), seed=0, lookahead=8, max_tokens=40)
RUNNING_STATE = "keeps a running state (recurrent) that cannot be cut back"
N_CTX = 512


class Stubborn(ToyLM):
    """Cut back by more than `limit` tokens it refuses, or forgets to do it."""

    def __init__(self, limit: int, *, silently: bool) -> None:
        super().__init__(random_logits(5, 3), 5, 256)
        self._limit = limit
        self._silently = silently

    def truncate(self, length: int) -> None:
        if length and len(self.ids) - length > self._limit:
            if not self._silently:
                raise ModelError("no")
            return
        super().truncate(length)


@pytest.mark.parametrize("silently", [False, True])
@pytest.mark.parametrize(("limit", "found"), [(0, 0), (1, 1), (3, 2), (16, 16), (63, 32), (64, 64), (200, 64)])
def test_how_far_is_found_by_trying(limit: int, found: int, silently: bool) -> None:
    assert most_cut(Stubborn(limit, silently=silently)) == found


@pytest.mark.parametrize(("model", "found"), [(TARGET, None), (EXPERTS, None), (GEMMA, None), (MAMBA, 0)])
def test_what_kinds_of_models_can_be_cut_back(
    write_model: WriteModel, open_lm: OpenLM, model: object, found: int | None
) -> None:
    assert open_lm(write_model(model)).most_cut == found  # type: ignore[arg-type]


def open_pair(target: Path, draft: Path | None = None, **settings: object) -> LoadedPair:
    given = EngineSettings(target, draft, N_CTX, n_threads=1, **settings)  # type: ignore[arg-type]
    return LoadedPair(given, lambda _: None, StopFlag())


class TestRunningState:
    def test_a_target_that_keeps_one_is_refused_with_a_draft(
        self, write_model: WriteModel, tiny_pair: TinyPair
    ) -> None:
        target = write_model(MAMBA)
        with pytest.raises(ModelError, match="cannot draft for") as refusal:
            open_pair(target, tiny_pair.draft)
        assert f"the target {RUNNING_STATE}" in refusal.value.message
        assert f"the target {RUNNING_STATE}" in verdict(look_at(target), look_at(tiny_pair.draft)).sentence

    def test_so_is_a_draft(self, write_model: WriteModel, tiny_pair: TinyPair) -> None:
        with pytest.raises(ModelError) as refusal:
            open_pair(tiny_pair.target, write_model(MAMBA))
        assert f"the draft {RUNNING_STATE}" in refusal.value.message

    @pytest.mark.parametrize("exact", [False, True])
    def test_alone_it_decodes_plainly_and_says_why(self, write_model: WriteModel, exact: bool) -> None:
        with open_pair(write_model(MAMBA), exact=exact) as pair:
            tally = Tally()
            ids = []
            for event in pair.complete("Once", GREEDY):
                tally.add(event)
                ids += written([event])
            assert len(ids) == 40
            assert tally.drafted == 0
            assert pair.info.lookahead(GREEDY) == 0
            if not exact:
                assert pair.info.why_no_more(0).startswith(f"the target {RUNNING_STATE}")

    def test_an_edited_question_is_answered_as_by_a_fresh_one(
        self, write_model: WriteModel, open_session: OpenSession
    ) -> None:
        """What cannot be cut back to the shared beginning is read anew."""
        target = write_model(replace(MAMBA, vocabulary=CHAT, chat_template=CHATML))
        warm, plain = open_session(target, None), replace(GREEDY, lookahead=0)
        first = [Message("user", "one")]
        said = text(warm.chat(first, plain))
        for messages in (
            [Message("user", "other")],
            [*first, Message("assistant", said), Message("user", "and")],
            first,
        ):
            ids = written(warm.chat(messages, plain))
            assert ids == written(open_session(target, None).chat(messages, plain))


class TestSlidingWindow:
    """A context that is many windows of 32 tokens long, and answers that go 200 tokens past the first one."""

    @pytest.mark.parametrize("noise", [0.0, 0.06], ids=["the target as its draft", "a draft that is often wrong"])
    def test_drafts_of_eight_change_nothing(
        self, write_model: WriteModel, open_session: OpenSession, open_lm: OpenLM, noise: float
    ) -> None:
        target, draft = write_model(GEMMA), write_model(replace(GEMMA, noise=noise))
        options = replace(GREEDY, max_tokens=GEMMA.window + 200)
        plain, speculating = open_session(target, None), open_session(target, draft)
        prompt = plain.raw_ids("Once upon")
        expected = written(plain.answer(prompt, replace(options, lookahead=0)))
        tally = Tally()
        ids: list[int] = []
        for event in speculating.answer(prompt, options):
            tally.add(event)
            ids += written([event])
        assert len(ids) == GEMMA.window + 200
        assert_equal_but_for_ties(open_lm(target), prompt, ids, expected)
        assert tally.drafted > 100
        assert (tally.rejected > 20) == (noise > 0)
        assert list(speculating.target.ids) == [*prompt, *ids[:-1]]

    def test_nothing_behind_the_window_is_lost(self, write_model: WriteModel, open_lm: OpenLM) -> None:
        """The whole text is kept for its layers: it can be cut anywhere, and says what a fresh cache says."""
        path = write_model(GEMMA)
        ids = [3 + i * 37 % 256 for i in range(300)]
        lm, fresh = open_lm(path), open_lm(path)
        lm.extend(ids, 0)
        assert lm.cut_point(100) == 100
        lm.truncate(100)
        fresh.extend(ids[:100], 0)
        np.testing.assert_allclose(lm.extend([9], 1), fresh.extend([9], 1), rtol=0, atol=0.02)

    def test_where_it_was_lost_the_cut_is_refused_and_the_text_read_anew(
        self, write_model: WriteModel, open_lm: OpenLM, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As with a build that keeps no more than the window: llama.cpp itself would cut without a word."""
        defaults = llama_cpp.llama_init_from_model

        def forgetful(model: object, params: object) -> object:
            params.swa_full = False  # type: ignore[attr-defined]
            return defaults(model, params)

        monkeypatch.setattr(llama_cpp, "llama_init_from_model", forgetful)
        lm = open_lm(write_model(GEMMA), n_ctx=2048)
        ids = [3 + i * 37 % 256 for i in range(1500)]
        for token in range(0, 1500, 50):
            lm.extend(ids[token : token + 50], 0)
        assert lm.cut_point(1490) == 1490
        assert lm.cut_point(100) == 0
        with pytest.raises(ModelError, match="cannot be cut back to 100 of 1500 tokens"):
            lm.truncate(100)
        assert len(lm.ids) == 1500
        lm.truncate(0)
        assert list(lm.ids) == []

    def test_the_memory_said_counts_every_layer_whole(self, write_model: WriteModel) -> None:
        header = look_at(write_model(GEMMA)).header
        assert header is not None
        assert header.keys + header.values == GEMMA.n_layer * 64 * 2
        assert header.window == 32


class TestContractOfGemma(LanguageModelContract):
    TOLERANCE = 0.15

    @pytest.fixture
    def make(self, write_model: WriteModel, open_lm: OpenLM) -> MakeLM:
        path = write_model(GEMMA)
        return lambda n_ctx: open_lm(path, n_ctx=n_ctx)


def test_experts_speculate_like_others(write_model: WriteModel, open_session: OpenSession, open_lm: OpenLM) -> None:
    target = write_model(EXPERTS)
    session = open_session(target, write_model(replace(EXPERTS, noise=0.06)))
    prompt = session.raw_ids("Once")
    expected = written(open_session(target, None).answer(prompt, replace(GREEDY, lookahead=0)))
    assert_equal_but_for_ties(open_lm(target), prompt, written(session.answer(prompt, GREEDY)), expected)


class TestAllowPlain:
    """Without it a draft that cannot be used is an error; with it decoding is plain, and says why."""

    @pytest.fixture(params=["no file", "no model", "another vocabulary", "a running state"])
    def draft(self, request: pytest.FixtureRequest, tmp_path: Path, write_model: WriteModel) -> Path:
        match request.param:
            case "no file":
                return tmp_path / "none.gguf"
            case "no model":
                path = tmp_path / "broken.gguf"
                path.write_bytes(b"GGUF" + b"\0" * 100)
                return path
            case "another vocabulary":
                return write_model(replace(DRAFT, vocabulary=DRAFT.vocabulary.swapped(100, 101)))
        return write_model(MAMBA)

    def test_without_it_the_draft_is_an_error(self, tiny_pair: TinyPair, draft: Path) -> None:
        with pytest.raises(ModelError):
            open_pair(tiny_pair.target, draft)

    def test_with_it_the_answer_is_the_plain_one(
        self, tiny_pair: TinyPair, draft: Path, open_session: OpenSession
    ) -> None:
        plain = open_session(tiny_pair.target, None)
        expected = written(plain.answer(plain.raw_ids("Once"), replace(GREEDY, lookahead=0)))
        with open_pair(tiny_pair.target, draft, allow_plain=True) as pair:
            tally = Tally()
            ids: list[int] = []
            for event in pair.complete("Once", GREEDY):
                tally.add(event)
                ids += written([event])
            assert ids == expected
            assert tally.drafted == 0
            assert pair.info.draft is None
            assert pair.info.lookahead(GREEDY) == 0
            assert draft.name in pair.info.why_no_more(0)

    def test_it_changes_nothing_for_a_pair_that_fits(self, tiny_pair: TinyPair) -> None:
        with open_pair(tiny_pair.target, tiny_pair.draft, allow_plain=True, measure=False) as pair:
            assert pair.info.lookahead(GREEDY) == 8
            assert pair.info.limit == ""
