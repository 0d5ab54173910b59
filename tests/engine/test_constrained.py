"""Constrained answers with speculation on, through the real llama.cpp: all validate, and drafting changes none."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from jsonschema import validate

from specdesk.core.events import Step, StopReason
from specdesk.core.names import RuleName
from specdesk.core.sampling import Sampling
from specdesk.engine.client import gbnf_of_schema
from specdesk.engine.loaded import LoadedPair
from specdesk.engine.options import AnswerOptions
from specdesk.engine.stop import StopFlag
from specdesk.errors import GenerationError, UsageError
from specdesk.settings import EngineSettings
from tests.answers import fold
from tests.engine.conftest import OpenEngine
from tests.tiny.gguf_models import TinyPair

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "minLength": 1, "maxLength": 8},
        "kind": {"enum": ["novel", "poem", "nota bene"]},
        "year": {"type": "integer", "minimum": 1900, "maximum": 1999},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 4}, "minItems": 1, "maxItems": 3},
        "lent": {"type": ["boolean", "null"]},
        "price": {"type": "number", "minimum": 0},
    },
    "required": ["title", "kind", "year", "tags"],
    "additionalProperties": False,
}
OPTIONS = AnswerOptions(Sampling(1.0), seed=1, lookahead=8, max_tokens=400, grammar=gbnf_of_schema(json.dumps(SCHEMA)))


@pytest.mark.parametrize("rule", RuleName)
@pytest.mark.parametrize("temperature", [0.0, 0.8, 3.0])
@pytest.mark.parametrize("k", [0, 1, 4, 8])
def test_every_answer_validates(
    tiny_pair: TinyPair, open_engine: OpenEngine, rule: RuleName, temperature: float, k: int
) -> None:
    engine = open_engine(tiny_pair.target, tiny_pair.draft)
    for seed in range(4):
        options = replace(OPTIONS, sampling=Sampling(temperature), seed=seed, lookahead=k, verify=rule)
        answer = fold(engine.complete(f"Book {seed}: ", options))
        assert answer.reason is StopReason.EOG, answer.text
        validate(json.loads(answer.text), SCHEMA)
        assert (answer.tally.accepted > 0) == (k > 0)


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(1.0, top_k=0, top_p=1.0, min_p=0.0),
        Sampling(1.0, top_k=3, top_n_sigma=1.0),
        Sampling(1.0, typical_p=0.5),
        Sampling(0.7, repeat_penalty=1.3, repeat_last_n=-1),
    ],
)
def test_whatever_the_samplers(tiny_pair: TinyPair, open_engine: OpenEngine, sampling: Sampling) -> None:
    engine = open_engine(tiny_pair.target, tiny_pair.draft)
    answer = fold(engine.complete("Book: ", replace(OPTIONS, sampling=sampling)))
    validate(json.loads(answer.text), SCHEMA)


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_exact_mode_writes_the_plain_answer(quantized_pair: TinyPair, temperature: float) -> None:
    settings = EngineSettings(quantized_pair.target, quantized_pair.draft, 1024, n_threads=1, exact=True)
    with LoadedPair(settings, lambda _: None, StopFlag()) as engine:
        for seed in range(3):
            options = replace(OPTIONS, sampling=Sampling(temperature), seed=seed, verify=RuleName.COUPLED)
            plain = fold(engine.complete("Book: ", replace(options, lookahead=0))).token_ids
            for k in (1, 3, 8):
                assert fold(engine.complete("Book: ", replace(options, lookahead=k))).token_ids == plain


def test_forced_text_is_drafted_even_without_a_draft_model(tiny_pair: TinyPair, open_engine: OpenEngine) -> None:
    engine = open_engine(tiny_pair.target)
    events = list(engine.complete("Book: ", OPTIONS))
    drafters = {event.drafter for event in events if isinstance(event, Step)}
    assert "grammar" in drafters
    assert drafters <= {"grammar", "suffix", None}
    tally = fold(events).tally
    assert tally.tokens_per_pass is not None
    assert tally.tokens_per_pass > 1.5
    plain = fold(engine.complete("Book: ", replace(OPTIONS, lookahead=0)))
    assert plain.tally.drafted == 0


def test_answers_do_not_disturb_each_other(tiny_pair: TinyPair, open_engine: OpenEngine) -> None:
    """With a grammar, without one, with another: each is what it is in a fresh engine."""
    other = replace(OPTIONS, grammar='root ::= "yes" | "no"')
    free = replace(OPTIONS, grammar=None, max_tokens=20)
    engine = open_engine(tiny_pair.target, tiny_pair.draft)
    for options in (OPTIONS, other, free, OPTIONS, other):
        fresh = open_engine(tiny_pair.target, tiny_pair.draft)
        expected = fold(fresh.complete("Book: ", options)).text
        assert fold(engine.complete("Book: ", options)).text == expected


def test_an_unusable_grammar_is_said_before_anything_is_decoded(tiny_pair: TinyPair, open_engine: OpenEngine) -> None:
    engine = open_engine(tiny_pair.target, tiny_pair.draft)
    with pytest.raises(UsageError, match="grammar cannot be used"):
        engine.complete("Book: ", replace(OPTIONS, grammar="root ::= ("))


def test_a_grammar_that_bans_leave_nothing_of_is_an_error(tiny_pair: TinyPair, open_engine: OpenEngine) -> None:
    engine = open_engine(tiny_pair.target, tiny_pair.draft)
    ids = [engine._session.target.vocabulary.tokenize(letter)[0] for letter in "ab"]
    sampling = Sampling(1.0, logit_bias=tuple((token, float("-inf")) for token in ids))
    options = replace(OPTIONS, grammar='root ::= "x" [ab]', sampling=sampling)
    with pytest.raises(GenerationError, match="allows none"):
        list(engine.complete("Book: ", options))
