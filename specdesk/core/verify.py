"""The accept rules: which draft tokens stand, and the token that follows them.

Pure: distributions and rng in, Verdict out.

Notation of Leviathan et al. (arXiv:2211.17192): p is the target's probability, q the draft's, gamma the draft length,
called lookahead here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from specdesk.core.warp import Distribution


@dataclass(frozen=True, slots=True)
class DraftToken:
    """A proposed token and the distribution it was really drawn from."""

    token: int
    q: Distribution


@dataclass(frozen=True, slots=True)
class TestedToken:
    """What the rule saw at one draft token, and what it decided."""

    token: int
    p: float
    q: float
    accepted: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of one target pass over a block of draft tokens.

    `tests` holds the tested draft tokens in order: all accepted, except that the last may be rejected. `token` follows
    the accepted ones: the replacement after a rejection, else the bonus token; `p` is its target probability.
    """

    tests: tuple[TestedToken, ...]
    token: int
    p: float

    @property
    def rejected(self) -> bool:
        """Whether a draft token was rejected, so that `token` is a replacement and not a bonus."""
        return bool(self.tests) and not self.tests[-1].accepted


TargetAt = Callable[[int], Distribution]
"""Row i of the target pass, warped: the law of the token at draft position i, given the draft tokens before it."""


def rejection(drafts: Sequence[DraftToken], target_at: TargetAt, rng: np.random.Generator) -> Verdict:
    """Accept each draft token with probability min(1, p/q); at the first refusal draw from the residual.

    Whatever the drafts and however many, the tokens that stand have the target's distribution. The rows behind a
    rejection are never asked for.

    Source: Leviathan et al., arXiv:2211.17192, Algorithm 1; Chen et al., arXiv:2302.01318, Algorithm 2.
    """
    tests: list[TestedToken] = []
    for position, draft in enumerate(drafts):
        target = target_at(position)
        p, q = target.prob(draft.token), draft.q.prob(draft.token)
        # Strictly below: a token with p = 0 falls even when the uniform number is 0.
        accepted = rng.random() * q < p
        tests.append(TestedToken(draft.token, p, q, accepted))
        if not accepted:
            token = residual(target, draft.q).draw(rng)
            return Verdict(tuple(tests), token, target.prob(token))
    last = target_at(len(drafts))
    token = last.draw(rng)
    return Verdict(tuple(tests), token, last.prob(token))


def residual(p: Distribution, q: Distribution) -> Distribution:
    """The normalised positive part of p - q: what a rejected token is replaced from."""
    excess = np.maximum(p.probs - q.probs_of(p.ids), 0.0)
    total = excess.sum()
    if total <= 0:  # p equals q up to rounding: a rejection here has probability 0 up to rounding, and p is the limit
        return p
    return Distribution(p.ids, excess / total)


REJECTION_PARITY = (
    "exact: accept with min(1, p/q), else draw from the residual; the output has the target's distribution for any "
    "draft (Leviathan et al. 2211.17192, Chen et al. 2302.01318)"
)
"""What `rejection` guarantees, in words, for traces."""

PLAIN_PARITY = "exact: no draft; the token is drawn from the target's distribution"
"""The same for a plain step."""
