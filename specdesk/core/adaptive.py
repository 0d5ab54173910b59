"""Lookahead that pays: drafts as long as another token is worth more than the time it takes.

The text to come is what it is, so the time per token counts. For each drafter the step is worked out that it can be
expected to bring, tokens and seconds, and the one with the most tokens per second is asked, if that is more than plain
decoding has. Within it a second is worth that pace, lambda: a further token, with any number behind it, is drafted if
the sum of the probabilities that the first of them, the first two, ... stand exceeds lambda times the time that the
wider pass and the draft's own steps take. Looking at several at once finds the ends of the steps of a staircase.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from specdesk.core.acceptance import Acceptance, Evidence
from specdesk.core.costs import Costs
from specdesk.core.drafters.protocol import Drafter, Prospect
from specdesk.core.ease import Ease
from specdesk.core.events import Outcome, Step
from specdesk.core.lookahead import Plan
from specdesk.core.verify import DraftToken

_MARGIN: Final = 0.03
"""Part by which drafting must be expected to be faster than plain decoding: what is learned is never quite right."""
_CAUGHT_UP: Final = 4
"""Unread tokens up to which reading them is part of a step, and no investment."""
_EXPECTED: Final = 128
"""Tokens an answer is expected to go on for at least, where no limit is nearer."""
_RETURN: Final = 2.0
"""Times its cost that reading what was missed must promise to save: how a text goes on is never sure."""


class _Outlook(NamedTuple):
    """What a drafter is expected to bring."""

    pace: float
    """Tokens per second."""
    n: int
    """Tokens to draft at most."""
    costs_s: float
    """Seconds more than a plain token that drafting takes."""
    saves_s: float
    """Seconds of plain decoding that its tokens save."""
    reads: bool = False
    """Whether that is what reading the text so far takes, and what all tokens to come may save."""


class AdaptiveLookahead:
    """Drafts as long as costs and learned acceptance say it pays, for one answer: a function of tokens and `costs`."""

    def __init__(self, most: int, costs: Costs, acceptance: Acceptance) -> None:
        """`most` tokens are drafted at most."""
        self._most = most
        self._costs = costs
        self._acceptance = acceptance
        acceptance.begin()
        self._depth = 0
        self._n_written = 0
        self._pace = 0.0
        self._pass_s: NDArray[np.float64] = np.empty(0)
        self._prospect: Prospect | None = None
        self._trail: list[Evidence] = []
        self._stand = 1.0
        self._ease = Ease()

    def plan(self, depth: int, room: int, prospects: Mapping[Drafter, Prospect]) -> Plan:
        """The drafter and number of tokens that bring most tokens per second; none if plain decoding does."""
        self._depth = depth
        self._prospect = None
        self._trail = []
        self._stand = 1.0
        most = min(self._most, room)
        if most == 0:
            return Plan(0, None, "close to a limit")
        self._pass_s = np.array([self._costs.target_s(n, depth) for n in range(1, most + 2)])
        plain = 1.0 / float(self._pass_s[0])
        self._pace = plain * (1.0 + _MARGIN)
        best = Plan(0, None, "nothing to draft")
        nearest = -np.inf
        for drafter, prospect in prospects.items():
            outlook = self._of_known(prospect, room) if prospect.known else self._of_draws(prospect, room)
            if best.drafter is None and outlook.saves_s - outlook.costs_s > nearest:
                nearest = outlook.saves_s - outlook.costs_s
                best = Plan(0, None, _no_pay(outlook))
            if outlook.pace > self._pace:
                self._pace = outlook.pace
                best = Plan(min(outlook.n, most, prospect.most), drafter, f"expected {outlook.pace / plain:.2f}x")
                self._prospect = prospect
        return best

    def takes(self, evidence: Evidence) -> bool:
        """Whether a token that is offered like this is worth a place in the pass, alone or with some behind it."""
        if self._prospect is None or len(self._trail) < len(self._prospect.known):
            return True  # what is known was weighed before
        self._acceptance.saw(self._trail[-1] if self._trail else self._prospect.start, evidence, self._ease.level)
        stand = self._stand * self._acceptance.of(evidence)
        rate = self._acceptance.after(evidence, self._ease.level)
        gains = stand * _sums(rate, len(self._pass_s) - 1 - len(self._trail))
        return bool((gains > self._pace * self._further_s(n_drawn=1)).any())

    def goes_on(self, draft: DraftToken) -> bool:
        """Whether any number of further tokens is worth its time, now that this one is in."""
        if draft.evidence is None or self._prospect is None:
            return True
        self._trail.append(draft.evidence)
        self._stand *= self._acceptance.of(draft.evidence)
        if len(self._trail) < len(self._prospect.known):
            return True
        if not self._prospect.n_unread:
            return False
        rate = self._acceptance.after(draft.evidence, self._ease.level)
        gains = self._stand * rate * _sums(rate, len(self._pass_s) - 1 - len(self._trail))
        return bool((gains > self._pace * self._further_s(n_drawn=0)).any())

    def learn(self, step: Step, hindsight: Sequence[tuple[Evidence, bool]]) -> None:
        """Count what was written, and learn from what was tested or would have been."""
        self._n_written += len(step.tokens)
        self._ease.saw(step.tokens)
        self._acceptance.wrote(len(step.tokens))
        stood = [token.outcome is Outcome.ACCEPTED for token in step.drafted if token.outcome is not Outcome.IGNORED]
        for evidence, accepted in zip(self._trail, stood, strict=False):
            self._acceptance.learn(evidence, accepted=accepted)
        for evidence, right in hindsight:
            self._acceptance.learn(evidence, accepted=right)

    def _further_s(self, n_drawn: int) -> NDArray[np.float64]:
        """Seconds for 1, 2, ... tokens behind those in, of which `n_drawn` need no step of the draft model any more."""
        n_in = len(self._trail)
        step_s = self._costs.draft_s(1, self._depth)
        more = np.arange(1, len(self._pass_s) - n_in)
        further_s: NDArray[np.float64] = self._pass_s[n_in + 1 :] - self._pass_s[n_in] + (more - n_drawn) * step_s
        return further_s

    def _of_known(self, prospect: Prospect, room: int) -> _Outlook:
        """The best beginning of tokens that are known beforehand."""
        known = prospect.known[: len(self._pass_s) - 1]
        tokens = 1.0 + np.cumsum(np.cumprod([self._acceptance.of(evidence) for evidence in known]))
        paces = tokens / self._pass_s[1 : len(known) + 1]
        n = int(paces.argmax()) + 1
        if n == len(prospect.known) and prospect.n_unread and self._of_draws(prospect, room).pace > self._pace:
            n = prospect.most  # behind all that are known the model goes on
        at = min(n, len(known))
        plain_s = float(self._pass_s[0])
        costs_s, saves_s = float(self._pass_s[at]) - plain_s, (float(tokens[at - 1]) - 1.0) * plain_s
        return _Outlook(float(paces[at - 1]), n, costs_s, saves_s)

    def _of_draws(self, prospect: Prospect, room: int) -> _Outlook:
        """What is to be expected of a draft model that is stopped as soon as it is not sure enough.

        Its first token is one of those it offered lately. It is taken, with the number behind it that is best, only if
        that is worth its time; else the step is a plain one that cost a draft step.
        """
        step_s = self._costs.draft_s(1, self._depth)
        read_s = self._costs.drafting_s(prospect.n_unread, 1, self._depth)
        invests = prospect.n_unread > _CAUGHT_UP + len(prospect.known)
        plain_s = float(self._pass_s[0])
        most = min(len(self._pass_s) - 1, prospect.most)
        spent_s = self._pass_s[1 : most + 1] - plain_s + np.arange(most) * step_s
        tokens, seconds = 1.0, plain_s + (step_s if invests else read_s)
        drafting = np.array([step_s if invests else read_s, 0.0])  # what drafting in any case would cost, and save
        for weight, evidence in self._acceptance.offers(prospect.start.source, self._ease.level):
            gains = self._acceptance.of(evidence) * _sums(self._acceptance.after(evidence, self._ease.level), most)
            values = gains - spent_s / plain_s
            n = int(values.argmax())
            drafting += weight * np.array([spent_s[n], gains[n] * plain_s])
            if values[n] > 0.0:
                tokens += weight * gains[n]
                seconds += weight * spent_s[n]
        pace = tokens / seconds
        costs_s, saves_s = (float(part) for part in drafting)
        # Reading what was missed is for all tokens to come.
        left = min(room + 1, max(_EXPECTED, self._n_written))
        returns_s = left * (plain_s - 1.0 / pace)
        if invests and returns_s < _RETURN * read_s:
            return _Outlook(0.0, 0, read_s, max(0.0, returns_s), reads=True)
        return _Outlook(pace, most, costs_s, saves_s)


def _no_pay(outlook: _Outlook) -> str:
    costs_ms, saves_ms = 1000 * outlook.costs_s, 1000 * outlook.saves_s
    if outlook.reads:
        return f"no draft would pay: the draft model would read for {costs_ms:.0f} ms to save {saves_ms:.0f} ms at best"
    return f"no draft would pay: costs {costs_ms:.0f} ms, saves {saves_ms:.0f} ms"


def _sums(rate: float, most: int) -> NDArray[np.float64]:
    """1, 1 + rate, 1 + rate + rate^2, ...: shape (most,)."""
    sums: NDArray[np.float64] = np.cumsum(rate ** np.arange(most))
    return sums
