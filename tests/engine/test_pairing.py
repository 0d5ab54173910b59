"""Which pairs are let through, and what is said about those that are not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from gguf import TokenType

from specdesk.core.events import Step
from specdesk.core.sampling import Sampling
from specdesk.engine import drafting, loaded
from specdesk.engine.llama import LlamaLM
from specdesk.engine.load_options import LoadOptions
from specdesk.engine.loaded import LoadedPair
from specdesk.engine.options import AnswerOptions
from specdesk.engine.pairing import check_pair
from specdesk.engine.stop import StopFlag
from specdesk.errors import ModelError
from specdesk.settings import EngineSettings
from tests.engine.conftest import OpenLM, OpenSession, WriteModel
from tests.tiny.gguf_models import BYTES, DRAFT, RWKV, TARGET, TinyPair, TinyVocabulary

LETTER_A, LETTER_B = 3 + ord("a"), 3 + ord("b")


def words(vocabulary: TinyVocabulary, *texts: str) -> TinyVocabulary:
    return vocabulary.with_tokens(texts, TokenType.NORMAL)


class TestAccepted:
    @pytest.mark.parametrize(
        ("target", "draft"),
        [
            (BYTES, BYTES),
            (BYTES.padded(8), BYTES),
            (BYTES, BYTES.padded(8)),
            (BYTES.padded(60), BYTES.padded(4)),
        ],
        ids=["equal", "target padded", "draft padded", "both padded"],
    )
    def test_vocabularies_that_differ_in_padding_only(
        self, write_model: WriteModel, open_lm: OpenLM, target: TinyVocabulary, draft: TinyVocabulary
    ) -> None:
        one = open_lm(write_model(replace(TARGET, vocabulary=target)))
        other = open_lm(write_model(replace(DRAFT, vocabulary=draft)))
        check_pair(one, other)
        assert one.n_vocab == other.n_vocab


class TestWithoutSomeTokens:
    """A draft whose control tokens are other ones, and stand where the target writes text of its own."""

    def test_they_are_said_and_never_drafted(self, write_model: WriteModel) -> None:
        marked = BYTES.with_tokens(["<|a|>", "<|b|>"], TokenType.CONTROL)
        target = write_model(replace(TARGET, vocabulary=marked.with_tokens(["<|c|>"], TokenType.CONTROL)))
        draft = write_model(
            replace(DRAFT, vocabulary=BYTES.with_tokens(["<|x|>", "<|b|>", "<|y|>", "<|z|>"], TokenType.USER_DEFINED))
        )
        notices: list[str] = []
        settings = EngineSettings(target, draft, 1024, n_threads=1, measure=False)
        hot = AnswerOptions(Sampling(5.0, 0, 1.0, 0.0), seed=5, lookahead=4, max_tokens=600)
        drafted: set[int] = set()
        with LoadedPair(settings, notices.append, StopFlag()) as pair:
            for event in pair.complete("Once", hot):
                if isinstance(event, Step):
                    drafted.update(token.id for token in event.drafted)
        (said,) = [notice for notice in notices if "never drafted" in notice]
        assert said == (
            "tiny draft: 3 special tokens differ and are never drafted, "
            "the first: token 260 is '<|x|>' in the draft and '<|a|>' in the target"
        )
        assert len(drafted) > 100
        assert not drafted & {260, 262, 263}


class TestRefused:
    @pytest.mark.parametrize(
        ("target", "draft", "said"),
        [
            (
                BYTES,
                BYTES.swapped(LETTER_A, LETTER_B),
                f"token {LETTER_A} is '<0x62>' in the draft and '<0x61>' in the target",
            ),
            (words(BYTES, "tea"), words(BYTES, "té"), "token 260 is 'té' in the draft and 'tea' in the target"),
            (words(BYTES, "tea"), BYTES, "token 260 is 'tea' in the target and not in the draft, and the draft has no"),
            (BYTES, words(BYTES, "tea", "cup"), "token 260 is 'tea' in the draft and not in the target"),
            (words(BYTES.padded(2), "tea"), BYTES.padded(3), "token 262 is 'tea' in the target and not in the draft"),
            (BYTES, RWKV, "of different kinds, rwkv in the draft and llama in the target; token 0 is '\\\\x00' in"),
        ],
        ids=[
            "two tokens swapped",
            "other text",
            "draft smaller",
            "target smaller",
            "same size, padding or not",
            "other kind",
        ],
    )
    def test_with_the_first_difference(
        self, write_model: WriteModel, open_lm: OpenLM, target: TinyVocabulary, draft: TinyVocabulary, said: str
    ) -> None:
        one = open_lm(write_model(replace(TARGET, vocabulary=target)))
        other = open_lm(write_model(replace(DRAFT, vocabulary=draft)))
        with pytest.raises(ModelError) as refusal:
            check_pair(one, other)
        assert said in refusal.value.message
        assert one.path.name in refusal.value.message
        assert other.path.name in refusal.value.message
        assert refusal.value.hint
        assert "\n" not in str(refusal.value)

    def test_and_both_are_closed(
        self, tiny_pair: TinyPair, write_model: WriteModel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        opened: list[LlamaLM] = []

        def noted(path: Path, options: LoadOptions, stop: StopFlag, **others: Any) -> LlamaLM:
            opened.append(LlamaLM(path, options, stop, **others))
            return opened[-1]

        for module in (loaded, drafting):
            monkeypatch.setattr(module, "LlamaLM", noted)
        draft = write_model(replace(DRAFT, vocabulary=BYTES.swapped(LETTER_A, LETTER_B)))
        with pytest.raises(ModelError, match="cannot draft for"):
            LoadedPair(EngineSettings(tiny_pair.target, draft, 64, n_threads=1), lambda _: None, StopFlag())
        assert len(opened) == 2
        for lm in opened:
            with pytest.raises(ValueError, match="closed"):
                lm.extend([5], 1)


@pytest.mark.parametrize("lookahead", [0, 4])
def test_padding_is_never_written_nor_proposed(
    write_model: WriteModel, open_session: OpenSession, lookahead: int
) -> None:
    """The tiny model scores padding above almost every other token; at this temperature all tokens come up."""
    target = write_model(replace(TARGET, vocabulary=BYTES.padded(40)))
    draft = write_model(replace(DRAFT, vocabulary=BYTES.padded(4)))
    session = open_session(target, draft, n_ctx=1024)
    hot = AnswerOptions(Sampling(5.0, 0, 1.0, 0.0), seed=5, lookahead=lookahead, max_tokens=900)
    seen: set[int] = set()
    for event in session.answer(session.raw_ids("Once"), hot):
        if isinstance(event, Step):
            seen.update(token.id for token in event.tokens)
            seen.update(token.id for token in event.drafted)
    assert len(seen) > 100
    assert max(seen) < len(BYTES.tokens)
