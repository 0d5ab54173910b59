"""The accept rules: which draft tokens stand, and the token that follows them.

Pure: distributions and chance in, Verdict out. Notation of Leviathan et al. (arXiv:2211.17192): p is the target's
probability, q the draft's, gamma the draft length, called lookahead here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specdesk.core.acceptance import Evidence
from specdesk.core.chance import Chance, GumbelNoise
from specdesk.core.warp import Distribution


@dataclass(frozen=True, slots=True)
class DraftToken:
    """A proposed token and the distribution it was really drawn from."""

    token: int
    q: Distribution
    evidence: Evidence | None = None
    """What its drafter can say of its chances."""


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


def rejection(drafts: Sequence[DraftToken], target_at: TargetAt, chance: Chance) -> Verdict:
    """Accept each draft token with probability min(1, p/q); at the first refusal draw from the residual.

    Whatever the drafts and however many, the tokens that stand have the target's distribution. The rows behind a
    rejection are never asked for.

    Source: Leviathan et al., arXiv:2211.17192, Algorithm 1; Chen et al., arXiv:2302.01318, Algorithm 2.
    """
    tests: list[TestedToken] = []
    for position, draft in enumerate(drafts):
        target = target_at(position)
        p, q = target.prob(draft.token), draft.q.prob(draft.token)
        accepted = chance.happens(p / q)
        tests.append(TestedToken(draft.token, p, q, accepted))
        if not accepted:
            token = chance.draw(residual(target, draft.q))
            return Verdict(tuple(tests), token, target.prob(token))
    last = target_at(len(drafts))
    token = chance.draw(last)
    return Verdict(tuple(tests), token, last.prob(token))


def block(drafts: Sequence[DraftToken], target_at: TargetAt, chance: Chance) -> Verdict:
    """Judge the block as a whole: the longest prefix whose own coin comes up stands.

    The tokens that stand have the target's distribution, and on average they are never fewer than by `rejection`. That
    holds for a length that depends on what was drawn as well: where drafting stopped, a prefix has no continuation to
    weigh, so its coin is its weight.

    Source: Sun et al., arXiv:2403.10444, Algorithm 2. There h is 0/0 where a prefix weighs 1 and p nowhere exceeds q
    behind it, that is where both are equal: nothing could be drawn from the residual, so the prefix stands.
    """
    weights = [1.0]
    seen: list[tuple[float, float]] = []
    n_standing = 0
    for position, draft in enumerate(drafts):
        p, q = target_at(position).prob(draft.token), draft.q.prob(draft.token)
        seen.append((p, q))
        weights.append(min(1.0, weights[-1] * p / q))
        if chance.happens(_stands(weights[-1], position + 1, drafts, target_at)):
            n_standing = position + 1
    tests = [
        TestedToken(draft.token, p, q, accepted=position < n_standing)
        for position, (draft, (p, q)) in enumerate(zip(drafts, seen, strict=True))
    ][: n_standing + 1]
    follower = target_at(n_standing)
    if n_standing == len(drafts):
        token = chance.draw(follower)
    else:
        token = chance.draw(residual(follower, drafts[n_standing].q, weights[n_standing]))
    return Verdict(tuple(tests), token, follower.prob(token))


def _stands(weight: float, length: int, drafts: Sequence[DraftToken], target_at: TargetAt) -> float:
    """The probability h that the prefix of this length stands, given that no longer one does."""
    if length == len(drafts):
        return weight
    left = float(_excess(target_at(length), drafts[length].q, weight).sum())
    return 1.0 if weight == 1.0 and left == 0.0 else left / (left + 1.0 - weight)


def coupled(drafts: Sequence[DraftToken], target_at: TargetAt, noise: GumbelNoise, start: int) -> Verdict:
    """Accept while the target, drawing with the noise the draft drew with, draws the same tokens.

    Every token is the target's own draw at its position, so the answer depends on seed and target alone: not on the
    draft, its length, or whether there is one. `start` is the position in the answer of the first draft token.
    """
    tests: list[TestedToken] = []
    for position, draft in enumerate(drafts):
        target = target_at(position)
        token = noise.choose(target, start + position)
        accepted = token == draft.token
        tests.append(TestedToken(draft.token, target.prob(draft.token), draft.q.prob(draft.token), accepted))
        if not accepted:
            return Verdict(tuple(tests), token, target.prob(token))
    last = target_at(len(drafts))
    token = noise.choose(last, start + len(drafts))
    return Verdict(tuple(tests), token, last.prob(token))


def residual(p: Distribution, q: Distribution, weight: float = 1.0) -> Distribution:
    """The normalised positive part of weight * p - q: what a rejected token is replaced from."""
    excess = _excess(p, q, weight)
    total = excess.sum()
    if total <= 0:  # p equals q up to rounding: a rejection here has probability 0 up to rounding, and p is the limit
        return p
    return Distribution(p.ids, excess / total)


def _excess(p: Distribution, q: Distribution, weight: float) -> NDArray[np.float64]:
    return np.maximum(weight * p.probs - q.probs_of(p.ids), 0.0)
