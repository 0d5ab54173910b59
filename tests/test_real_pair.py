"""The default pair, where it is on this machine: what the README promises, on real models."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import llama_cpp
import pytest

from specdesk.core.answer import Answer
from specdesk.core.events import Event, PromptRead, StopReason
from specdesk.core.lm import n_common
from specdesk.core.names import RuleName
from specdesk.core.sampling import Sampling
from specdesk.engine.client import AnswerOptions, Engine, Message
from specdesk.engine.llama import LlamaLM
from specdesk.engine.load_options import LoadOptions
from specdesk.engine.stop import StopFlag
from specdesk.proof.prompts import PROMPTS
from specdesk.settings import EngineSettings
from tests.answers import fold, reason
from tests.tiny.random_draft import write_random_draft

pytestmark = [pytest.mark.models, pytest.mark.timeout(600)]

CODE = "Write a Python function that parses CSV with quoted fields"
STORY = "Tell a short story about a lighthouse keeper"


def decode(engine: Engine, turns: list[Message], k: int, *, temperature: float, n: int, seed: int) -> list[Event]:
    return list(engine.chat(turns, AnswerOptions(Sampling(temperature), seed, k, n)))


def ask(engine: Engine, question: str, k: int, *, temperature: float = 0.0, n: int = 96, seed: int = 1) -> Answer:
    return fold(decode(engine, [Message("user", question)], k, temperature=temperature, n=n, seed=seed))


@pytest.fixture(scope="module")
def engine(real_pair: tuple[Path, Path]) -> Iterator[Engine]:
    with Engine(EngineSettings(*real_pair, n_ctx=1024), lambda _: None, StopFlag()) as engine:
        yield engine


def assert_equal_but_for_ties(engine: Engine, question: str, plain: list[int], drafted: list[int], k: int) -> None:
    """Up to the first difference, which rounding must explain."""
    if plain != drafted:
        at = n_common(plain, drafted)
        close = engine.closeness([Message("user", question)], plain, at, (plain[at], drafted[at]), 1 + k)
        assert close.is_tie, close


@pytest.mark.parametrize("question", [CODE, STORY])
@pytest.mark.parametrize("k", [1, 2, 4, 7])
def test_greedy_speculation_writes_the_plain_answer_up_to_numerical_ties(engine: Engine, question: str, k: int) -> None:
    plain, drafted = ask(engine, question, 0), ask(engine, question, k)
    assert_equal_but_for_ties(engine, question, plain.token_ids, drafted.token_ids, k)
    tally = drafted.tally
    assert tally.drafted == tally.accepted + tally.rejected + tally.ignored


def test_code_takes_few_target_passes(engine: Engine) -> None:
    tally = ask(engine, CODE, 4).tally
    assert tally.tokens_per_pass is not None
    assert tally.tokens_per_pass > 2.5


def test_same_seed_same_answer(engine: Engine) -> None:
    first, second = (ask(engine, STORY, 4, temperature=0.8, n=40, seed=7) for _ in range(2))
    assert first.token_ids == second.token_ids
    assert ask(engine, STORY, 4, temperature=0.8, n=40, seed=8).token_ids != first.token_ids


def test_a_second_turn_reads_only_what_is_new(engine: Engine) -> None:
    first = ask(engine, "Name one colour.", 4, n=12)
    turns = [Message("user", "Name one colour."), Message("assistant", first.text), Message("user", "And another?")]
    second = decode(engine, turns, 4, temperature=0.0, n=12, seed=1)
    assert isinstance(second[0], PromptRead)
    assert second[0].n_reused > first.tally.prompt_tokens - 5
    assert reason(second) in (StopReason.EOG, StopReason.LENGTH)


def test_padding_of_the_vocabulary_is_neither_drafted_nor_written(real_pair: tuple[Path, Path]) -> None:
    with LlamaLM(real_pair[0], LoadOptions(64, 1, 0), StopFlag()) as target:
        assert target.n_vocab == 151_665 < target.vocabulary.n_tokens == 151_936


@pytest.mark.slow
@pytest.mark.parametrize("draft", ["real", "random"])
def test_the_reported_speedup_is_what_two_interleaved_runs_show(
    real_pair: tuple[Path, Path], tmp_path: Path, draft: str
) -> None:
    """Within 10%, also far below 1. It times the machine, so it wants the machine to itself."""
    target = real_pair[0]
    drafter = real_pair[1] if draft == "real" else write_random_draft(tmp_path / "random.gguf", target)
    with Engine(EngineSettings(target, drafter, n_ctx=1024), lambda _: None, StopFlag()) as engine:
        ratios, reported = [], []
        ask(engine, CODE, 4, n=32)
        for _ in range(5):
            plain, drafted = ask(engine, CODE, 0, n=160).tally, ask(engine, CODE, 4, n=160).tally
            assert plain.tokens_per_s
            assert drafted.tokens_per_s
            assert drafted.speedup
            ratios.append(drafted.tokens_per_s / plain.tokens_per_s)
            reported.append(drafted.speedup)
    print(f"{draft} draft: two runs {median(ratios):.3f}, reported {median(reported):.3f}", ratios, reported)  # noqa: T201
    assert median(reported) == pytest.approx(median(ratios), rel=0.1)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("target_format", "k", "tokens_per_pass"), [("q4_k_m", 2, 1.8), ("q8_0", 4, 2.5)])
def test_exact_mode_writes_the_plain_answers(
    real_pair: tuple[Path, Path], tmp_path: Path, target_format: str, k: int, tokens_per_pass: float
) -> None:
    """Twenty prompts, six of them of some 300 and 900 tokens, 128 tokens each; plain without a draft loaded.

    Greedy and sampled under `coupled`. The lookaheads go round from 1 to 8.
    """
    target = real_pair[0] if target_format == "q4_k_m" else as_q8_0(real_pair[0], tmp_path / "target.gguf")
    rates: list[str] = []

    def engine(draft: Path | None) -> Engine:
        return Engine(EngineSettings(target, draft, 2048, exact=True), lambda _: None, StopFlag())

    def answers(engine: Engine, *, draft: bool) -> Iterator[tuple[str, Answer]]:
        for number, prompt in enumerate(PROMPTS):
            for temperature in (0.0, 0.8):
                lookahead = 1 + number % 8 if draft else 0
                options = AnswerOptions(
                    Sampling(temperature), 11, lookahead, 128, verify=RuleName.COUPLED, answer=number
                )
                answer = fold(engine.chat([Message("user", prompt)], options))
                yield f"{number + 1} -k {1 + number % 8} -t {temperature}", answer

    with engine(None) as plain:
        expected = dict(answers(plain, draft=False))
    with engine(real_pair[1]) as drafting:
        for name, answer in answers(drafting, draft=True):
            assert answer.token_ids == expected[name].token_ids, name
            rates.append(f"{name}: {answer.tally.tokens_per_pass:.2f}")
        tally = fold(drafting.chat([Message("user", CODE)], AnswerOptions(Sampling(0.0), 1, k, 128))).tally
    print(f"{target_format}: {len(rates)} as plain; code -k {k}: {tally.tokens_per_pass} {tally.widths}", rates)  # noqa: T201
    assert tally.tokens_per_pass is not None
    assert tally.tokens_per_pass > tokens_per_pass


def as_q8_0(model: Path, path: Path) -> Path:
    """The model in another format, by llama.cpp's own quantizer."""
    params = llama_cpp.llama_model_quantize_default_params()
    params.ftype = llama_cpp.LLAMA_FTYPE_MOSTLY_Q8_0
    params.allow_requantize = True
    assert llama_cpp.llama_model_quantize(os.fsencode(model), os.fsencode(path), ctypes.byref(params)) == 0
    return path
