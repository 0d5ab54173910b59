"""The joint law of three tokens through the real llama.cpp, for sampler settings x accept rules x drafters.

1,500 answers each of the tiny Q8_0 pair with one thread, whose passes of every width give the same logits to the bit,
so that the law enumerated by one-token passes is that of every pass. Seeds are fixed; for a fresh seed each case would
fail with probability 1e-6, all 60 of them with 1e-4 together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
import pytest

from specdesk.core.acceptance import Acceptance
from specdesk.core.adaptive import AdaptiveLookahead
from specdesk.core.constraint import Constraint
from specdesk.core.decode import Task
from specdesk.core.drafters.model import ModelDrafter
from specdesk.core.drafters.protocol import Drafter
from specdesk.core.drafters.suffix import SuffixDrafter
from specdesk.core.events import Step
from specdesk.core.law import Law
from specdesk.core.names import RuleName
from specdesk.core.sampling import SamplerName, Sampling
from specdesk.engine.grammar.native import Grammar
from specdesk.engine.llama import LlamaLM
from tests.engine.conftest import OpenLM
from tests.law import joint_law_p_value
from tests.law_product import combinations
from tests.tiny.gguf_models import TinyPair
from tests.toy.costs import costs
from tests.toy.drafters import OneHot, seen_before
from tests.toy.models import events

N = 1500
ALARM = 1e-6
LENGTH = 3
PROMPT = "abcab"
SETTINGS = {
    "top-k": Sampling(1.5, top_k=3, top_p=1.0, min_p=0.0),
    "penalised": Sampling(1.5, 3, 1.0, 0.0, repeat_penalty=1.4, frequency_penalty=0.3, repeat_last_n=4),
    "other order": Sampling(
        1.5, 4, min_p=0.3, samplers=(SamplerName.TEMPERATURE, SamplerName.MIN_P, SamplerName.TOP_K)
    ),
    "constrained": Sampling(1.5, top_k=3, top_p=1.0, min_p=0.0),
}
GRAMMAR = "root ::= [abc] [c-f] [a-z]+"


@pytest.fixture
def models(quantized_pair: TinyPair, open_lm: OpenLM) -> Iterator[tuple[LlamaLM, LlamaLM, Grammar]]:
    target = open_lm(quantized_pair.target)
    with Grammar(target.vocabulary, GRAMMAR) as grammar:
        yield target, open_lm(quantized_pair.draft), grammar


def joint_law(lm: LlamaLM, law: Law, prompt: Sequence[int]) -> dict[tuple[int, ...], float]:
    """Probability of every LENGTH tokens behind `prompt`, from passes of one token."""
    paths: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(LENGTH):
        longer: dict[tuple[int, ...], float] = {}
        for path, p in paths.items():
            text = [*prompt, *path]
            lm.truncate(0)
            lm.extend(text[:-1], 0)
            following = law.at(lm.extend(text[-1:], 1)[0], text)
            for token, q in zip(following.ids, following.probs, strict=True):
                longer[*path, int(token)] = p * float(q)
        paths = longer
    return paths


def drafters(name: str, draft: LlamaLM, token: int) -> list[Drafter]:
    match name:
        case "model":
            return [ModelDrafter(draft)]
        case "suffix":
            return [OneHot(seen_before)]
        case "one token":
            return [OneHot(lambda _: token, most=1)]
        case "auto":
            return [ModelDrafter(draft), SuffixDrafter()]
        case _:
            return []


@pytest.mark.parametrize(("setting", "rule", "name"), combinations(list(SETTINGS)))
def test_three_tokens_follow_the_target(
    models: tuple[LlamaLM, LlamaLM, Grammar], setting: str, rule: RuleName, name: str
) -> None:
    target, draft, grammar = models
    vocabulary = target.vocabulary
    prompt = [1, *vocabulary.tokenize(PROMPT)]
    constraint: Constraint | None = grammar if setting == "constrained" else None
    # The limit lies so far behind the tokens that count that it shortens no draft before them.
    task = Task(prompt, SETTINGS[setting], max_tokens=LENGTH + 8, constraint=constraint)
    law = joint_law(target, task.law, prompt)
    rng = np.random.default_rng(2211)
    proposing = drafters(name, draft, vocabulary.tokenize("c")[0])
    known = Acceptance()

    def sample() -> tuple[int, ...]:
        # What is learned goes on from answer to answer, as in a chat.
        lookahead = AdaptiveLookahead(3, costs(0.3, 0.05), known) if name == "auto" else None
        stream = events(
            task,
            target,
            None,
            3,
            drafters=proposing,
            lookahead=lookahead,
            seed=rng,
            vocabulary=vocabulary,
            rule=rule,
        )
        return tuple(islice((t.id for event in stream if isinstance(event, Step) for t in event.tokens), LENGTH))

    p_value = joint_law_p_value([sample() for _ in range(N)], law)
    print(f"| {setting} | {rule} | {name} | {p_value:.3f} |")  # noqa: T201
    assert p_value > ALARM
