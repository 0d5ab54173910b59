"""The joint law of three tokens on toy models, for every sampler setting x accept rule x drafter.

20,000 answers each, chi-square against the law by enumeration. Seeds are fixed; for a fresh seed each case would fail
with probability 1e-6, all 90 of them with 1e-4 together.
"""

from __future__ import annotations

import numpy as np
import pytest

from specdesk.core.acceptance import Acceptance
from specdesk.core.adaptive import AdaptiveLookahead
from specdesk.core.decode import Task
from specdesk.core.drafters.model import ModelDrafter
from specdesk.core.drafters.protocol import Drafter
from specdesk.core.drafters.suffix import SuffixDrafter
from specdesk.core.names import RuleName
from specdesk.core.sampling import SamplerName, Sampling
from tests.law import joint_law_p_value
from tests.law_product import combinations
from tests.toy.costs import costs
from tests.toy.drafters import OneHot, seen_before
from tests.toy.models import TableConstraint, ToyLM, events, joint_law, random_logits, remember_laws, written

N = 20_000
ALARM = 1e-6
PROMPT = (1, 3, 0, 2, 1)
V = 4
SETTINGS = {
    "open": Sampling(1.0, 0, 1.0, 0.0),
    "default": Sampling(0.8, 3, 0.95, 0.05),
    "every cut": Sampling(1.4, 3, 0.95, 0.05, typical_p=0.95, top_n_sigma=2.0),
    "penalised": Sampling(1.0, 0, 1.0, 0.0, 1.0, 0.0, 1.4, 0.3, repeat_last_n=3, logit_bias=((0, 0.5), (3, -0.5))),
    "other order": Sampling(0.6, 3, 0.9, 0.1, samplers=(SamplerName.TEMPERATURE, SamplerName.MIN_P, SamplerName.TOP_K)),
    "constrained": Sampling(0.9, 3, 0.95, 0.02),
}
CONSTRAINT = TableConstraint({-1: (0, 1, 3), 0: (1, 2), 1: (0, 1, 2, 3), 2: (3,), 3: (0, 2)})


def drafters(name: str) -> list[Drafter]:
    model = ModelDrafter(ToyLM(random_logits(V, 7, noise=0.8), V))
    match name:
        case "model":
            return [model]
        case "suffix":
            return [OneHot(seen_before)]
        case "one token":
            return [OneHot(lambda text: (text[-1] + 1) % V, most=1)]
        case "auto":
            return [model, SuffixDrafter()]
        case _:
            return []


@pytest.mark.parametrize(("setting", "rule", "name"), combinations(list(SETTINGS)))
def test_three_tokens_follow_the_target(
    monkeypatch: pytest.MonkeyPatch, setting: str, rule: RuleName, name: str
) -> None:
    remember_laws(monkeypatch, V)
    target = ToyLM(random_logits(V, 7), V)
    constraint = CONSTRAINT if setting == "constrained" else None
    # The fourth token keeps the limit from shortening the drafts of the third.
    task = Task(PROMPT, SETTINGS[setting], max_tokens=4, constraint=constraint)
    rng = np.random.default_rng(11)
    proposing = drafters(name)
    known = Acceptance()

    def sample() -> tuple[int, ...]:
        # What is learned goes on from answer to answer, as in a chat.
        lookahead = AdaptiveLookahead(3, costs(0.3, 0.05), known) if name == "auto" else None
        stream = events(task, target, None, 3, drafters=proposing, lookahead=lookahead, seed=rng, rule=rule)
        return tuple(token.id for token in written(stream)[:3])

    samples = [sample() for _ in range(N)]
    p_value = joint_law_p_value(samples, joint_law(target, PROMPT, SETTINGS[setting], 3, constraint))
    print(f"| {setting} | {rule} | {name} | {p_value:.3f} |")  # noqa: T201
    assert p_value > ALARM
