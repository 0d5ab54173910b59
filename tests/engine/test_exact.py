"""Exact mode: token for token what plain decoding writes, over whole conversations, with drafts really in use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from specdesk.core.names import RuleName
from specdesk.core.sampling import Sampling
from specdesk.engine.cache_settings import Invariance
from specdesk.engine.invariance import MAX_WIDTH, find_invariance
from specdesk.engine.loaded import LoadedPair
from specdesk.engine.message import Message
from specdesk.engine.options import AnswerOptions
from specdesk.engine.stop import StopFlag
from specdesk.errors import ModelError
from specdesk.settings import EngineSettings
from tests.answers import fold
from tests.tiny.gguf_models import TinyPair

GREEDY = AnswerOptions(Sampling(0.0), seed=3, lookahead=0, max_tokens=90, verify=RuleName.COUPLED)
SAMPLED = replace(GREEDY, sampling=Sampling(0.8))


def opened(pair: TinyPair, *, draft: bool, n_threads: int = 1) -> LoadedPair:
    settings = EngineSettings(pair.target, pair.draft if draft else None, 2048, n_threads=n_threads, exact=True)
    return LoadedPair(settings, lambda _: None, StopFlag())


def conversation(engine: LoadedPair, options: AnswerOptions) -> list[list[int]]:
    """Five answers: the second reuses the first's cache, the third is asked again, then an earlier turn is edited."""
    answers: list[list[int]] = []

    def ask(turns: Sequence[Message]) -> str:
        numbered = replace(options, answer=len(answers))
        answers.append((answer := fold(engine.chat(turns, numbered))).token_ids)
        return answer.text

    first = [Message("user", "Name three colours. " * 9)]
    second = [*first, Message("assistant", ask(first)), Message("user", "And three more? " * 12)]
    third = [*second, Message("assistant", ask(second)), Message("user", "Why those?")]
    ask(third)
    ask(third)
    ask([*first, Message("assistant", "Red."), Message("user", "Only one?")])
    return answers


@pytest.mark.parametrize("options", [GREEDY, SAMPLED], ids=["greedy", "sampled"])
def test_a_whole_conversation_is_the_plain_one(quantized_pair: TinyPair, options: AnswerOptions) -> None:
    """It passes 256 and 512 tokens; the plain side has no draft loaded."""
    with opened(quantized_pair, draft=False) as engine:
        plain = conversation(engine, options)
    assert len({tuple(ids) for ids in plain}) >= 4
    with opened(quantized_pair, draft=True) as engine:
        for k in range(MAX_WIDTH):
            assert conversation(engine, replace(options, lookahead=k)) == plain, k


def test_two_threads_keep_to_it_past_512_tokens(quantized_pair: TinyPair) -> None:
    """Where they share out the cache between them, which settings had to be changed for."""
    turns = [Message("user", "Count: " + " ".join(map(str, range(170))))]
    options = replace(SAMPLED, max_tokens=30)
    with opened(quantized_pair, draft=True, n_threads=2) as engine:
        assert engine.info.exact is not None
        assert engine.info.exact.settings.changes
        # And is really in use: keys as Q8_0 take a little more than half of what keys as F16 take.
        target = engine._session.target
        list(engine.chat(turns, replace(options, max_tokens=1)))
        n_values = len(target.ids) * 64 * 2
        assert target.cells().size < 2 * n_values * 2 * 0.8
        plain, drafted = (fold(engine.chat(turns, replace(options, lookahead=k))) for k in (0, 4))
    assert plain.tally.prompt_tokens > 512
    assert drafted.tally.drafted > 0
    assert drafted.token_ids == plain.token_ids


def test_it_really_speculates(quantized_pair: TinyPair) -> None:
    with opened(quantized_pair, draft=True) as engine:
        assert engine.info.widest == MAX_WIDTH
        tally = fold(engine.chat([Message("user", "Hello")], replace(GREEDY, lookahead=4))).tally
    assert 5 in tally.widths
    assert tally.tokens_per_pass is not None
    assert tally.tokens_per_pass > 1.5


def test_drafts_are_never_longer_than_the_widest_pass(
    quantized_pair: TinyPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    def narrow(*args: Any, **named: Any) -> Invariance:
        return replace(find_invariance(*args, **named), width=3)

    monkeypatch.setattr("specdesk.engine.loaded.find_invariance", narrow)
    with opened(quantized_pair, draft=True) as engine:
        tally = fold(engine.chat([Message("user", "Hello")], replace(GREEDY, lookahead=8))).tally
    assert tally.widths == {1, 3}


def test_without_a_wide_pass_it_decodes_plainly(tiny_pair: TinyPair) -> None:
    """F32 has none: its one-token products add in another order."""
    with opened(tiny_pair, draft=True) as engine:
        assert engine.info.widest == 1
        tally = fold(engine.complete("Hello", replace(GREEDY, lookahead=4))).tally
    assert tally.widths == {1}
    assert tally.drafted == 0


def test_a_limit_inside_a_block_leaves_the_cells_plain_decoding_leaves(quantized_pair: TinyPair) -> None:
    """An answer cut anywhere goes on as the plain one does: what it left in the cache is the same to the bit."""

    def cut(engine: LoadedPair, n: int, k: int) -> tuple[list[int], bytes]:
        list(engine.complete("Hello there", replace(GREEDY, lookahead=k, max_tokens=n)))
        target = engine._session.target
        return list(target.ids), target.cells().tobytes()

    with opened(quantized_pair, draft=True) as engine, opened(quantized_pair, draft=False) as other:
        for n in range(1, 20):
            assert cut(engine, n, 4) == cut(other, n, 0), n


def test_the_result_is_kept_in_the_user_s_folder(quantized_pair: TinyPair, own_home: Path) -> None:
    notices: list[str] = []
    for _ in range(2):
        settings = EngineSettings(quantized_pair.target, None, 512, n_threads=1, exact=True)
        LoadedPair(settings, notices.append, StopFlag()).close()
    assert sum("probing" in notice for notice in notices) == 1
    assert list((own_home / "specdesk" / "profiles").glob("exact-*.json"))


def test_a_missing_draft_is_said_before_the_probe(quantized_pair: TinyPair, tmp_path: Path) -> None:
    notices: list[str] = []
    settings = EngineSettings(quantized_pair.target, tmp_path / "none.gguf", 512, n_threads=1, exact=True)
    with pytest.raises(ModelError, match=r"none\.gguf"):
        LoadedPair(settings, notices.append, StopFlag())
    assert notices == []
