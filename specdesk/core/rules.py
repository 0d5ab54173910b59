"""An accept rule together with the chance it runs on: how drafters draw and how a block is judged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from specdesk.core.chance import Chance, Dice, GumbelNoise
from specdesk.core.names import RuleName
from specdesk.core.verify import DraftToken, TargetAt, Verdict, block, coupled, rejection
from specdesk.core.warp import Distribution

PARITY = {
    RuleName.REJECTION: "exact: accept with min(1, p/q), else draw from the residual; the output has the target's "
    "distribution for any draft (Leviathan et al. 2211.17192, Chen et al. 2302.01318)",
    RuleName.BLOCK: "exact: the block is accepted as a whole, the replacement drawn from its residual; the output has "
    "the target's distribution for any draft (Sun et al. 2403.10444)",
    RuleName.COUPLED: "exact: every token is the target's own draw with noise that seed and position determine; the "
    "draft only decides how many are found in one pass",
}
"""What each rule guarantees, in words, for traces."""

PLAIN_PARITY = "exact: no draft; the token is drawn from the target's distribution"
"""The same for a step without a draft."""


class Rule(Protocol):
    """How tokens are drawn and drafts are judged in one answer. Positions count the answer's tokens from 0."""

    @property
    def name(self) -> RuleName:
        """Which rule this is."""

    def propose(self, q: Distribution, position: int) -> int:
        """The token a draft with distribution `q` proposes at `position`."""

    def judge(self, drafts: Sequence[DraftToken], target_at: TargetAt, start: int) -> Verdict:
        """Which of `drafts` stand, the first of them at position `start`, and what follows."""


class ByChance:
    """Rejection or block: draws are independent of everything."""

    def __init__(self, name: RuleName, chance: Chance) -> None:
        self.name = name
        self._verify = {RuleName.REJECTION: rejection, RuleName.BLOCK: block}[name]
        self._chance = chance

    def propose(self, q: Distribution, position: int) -> int:  # noqa: ARG002 — draws do not depend on it
        """A draw from `q`."""
        return self._chance.draw(q)

    def judge(self, drafts: Sequence[DraftToken], target_at: TargetAt, start: int) -> Verdict:  # noqa: ARG002
        """By the rule's own function."""
        return self._verify(drafts, target_at, self._chance)


class ByNoise:
    """Coupled: target and draft draw with the same noise."""

    name = RuleName.COUPLED

    def __init__(self, noise: GumbelNoise) -> None:
        self._noise = noise

    def propose(self, q: Distribution, position: int) -> int:
        """What `q` draws with the noise of the position."""
        return self._noise.choose(q, position)

    def judge(self, drafts: Sequence[DraftToken], target_at: TargetAt, start: int) -> Verdict:
        """Accept while the target draws the same."""
        return coupled(drafts, target_at, self._noise, start)


def rule_of(name: RuleName, seed: int, answer: int = 0) -> Rule:
    """The rule for the answer of this number with this seed; another number, other random numbers."""
    if name is RuleName.COUPLED:
        return ByNoise(GumbelNoise(seed, answer))
    return ByChance(name, Dice(np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(answer,)))))
