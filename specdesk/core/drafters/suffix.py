"""Drafting what followed the last time the text went like this."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from specdesk.core.acceptance import Evidence
from specdesk.core.drafters.protocol import Draw, Prospect
from specdesk.core.law import Law
from specdesk.core.lm import n_common
from specdesk.core.lookahead import MOST_ADAPTIVE
from specdesk.core.verify import DraftToken
from specdesk.core.warp import certain

LENGTHS: Final = (16, 12, 8, 6, 4, 3, 2)
"""Lengths of the stretches of text that are indexed, longest first."""
MOST: Final = MOST_ADAPTIVE
"""Tokens that are proposed at most."""

_LONGEST: Final = 32
"""A match is measured up to here; longer ones are as good."""
_STEPS: Final = (3, 4, 6, 8, 12, 16, 24, _LONGEST)
"""Match lengths from which a token is taken to be surer."""
_AGREED: Final = 2
"""Times in a row that a stretch was followed by the same token, as far as they are told apart."""
_GUESSES: Final = (0.3, 0.44, 0.58, 0.68, 0.78, 0.86, 0.91, 0.95, 0.965)
"""First guesses of acceptance by match length, before anything was seen: below what was measured on 27 greedy answers
(0.43 at 2 tokens, 0.55 at 3, 0.74 at 4, 0.89 at 8, 0.96 from 12 on), since drawn ones repeat less."""


class Match(NamedTuple):
    """An earlier place of the stretch the text ends with."""

    at: int
    """Where in the text what followed it begins."""
    length: int
    """Tokens that are equal before it."""
    agreed: int
    """How often in a row the same token followed before, 0 to 2."""


class SuffixIndex:
    """Finds where the end of a text stood before. Takes the same time for each token however long the text is.

    Of the stretches that match, the longest indexed one wins, at its latest place. Every token adds one entry for each
    of the `LENGTHS`, some 1,000 bytes in all.
    """

    def __init__(self) -> None:
        self.text: list[int] = []
        self._places: dict[int, tuple[int, int]] = {}

    def extend(self, tokens: Sequence[int]) -> None:
        """Go on with the text."""
        text = self.text
        for token in tokens:
            end = len(text)
            text.append(token)
            # What ends before this token has a follower now.
            for n in LENGTHS:
                if n <= end:
                    key = hash((n, *text[end - n : end]))
                    place = self._places.get(key)
                    agreed = 0
                    if place is not None and text[place[0]] == token:
                        agreed = min(_AGREED, place[1] + 1)
                    self._places[key] = (end, agreed)

    def match(self) -> Match | None:
        """The best earlier place of the end of the text; None if there is none."""
        text = self.text[max(0, len(self.text) - _LONGEST) :]
        for n in LENGTHS:
            if n > len(text):
                continue
            place = self._places.get(hash((n, *text[-n:])))
            if place is not None:
                at, agreed = place
                length = self._equal(text, at)
                if length >= n:  # else another stretch has the same hash
                    return Match(at, length, agreed)
        return None

    def following(self, at: int, n: int) -> list[int]:
        """n tokens from `at` on. Where the text ends it goes on as it went on from `at`: a repetition goes on."""
        found = self.text[at : at + n]
        while len(found) < n:
            found.append(found[len(found) - (len(self.text) - at)])
        return found

    def _equal(self, text: Sequence[int], at: int) -> int:
        length = 0
        while length < min(len(text), at, _LONGEST) and text[-1 - length] == self.text[at - 1 - length]:
            length += 1
        return length


class SuffixDrafter:
    """Proposes what followed the longest end of the text that stood before in prompt or answer, certain of each."""

    name = "suffix"

    def __init__(self) -> None:
        self._index = SuffixIndex()
        self._law: Law | None = None
        self._match: Match | None = None
        self._told_until = 0
        """Up to where the text is the prompt, or was proposed: hindsight begins there."""

    def begin(self, committed: Sequence[int], law: Law) -> None:
        """Keep the index where the text goes on as it did, else make it anew when it is first needed."""
        self._law = law
        n_kept = n_common(self._index.text, committed)
        if n_kept < len(self._index.text):
            self._index = SuffixIndex()
        self._told_until = len(committed)

    def prospect(self, committed: Sequence[int]) -> Prospect | None:
        """As many tokens as are measured, the surer the longer the match."""
        self._index.extend(committed[len(self._index.text) :])
        self._match = self._index.match()
        if self._match is None:
            return None
        known = tuple(evidence_of(self._match.length + i, self._match.agreed) for i in range(MOST))
        return Prospect(MOST, known[0], known)

    def propose(self, committed: Sequence[int], draw: Draw) -> Iterator[DraftToken]:
        """The tokens that followed, as far as the constraint allows them."""
        if self._match is None or self._law is None:
            return
        constraint = self._law.constraint
        text = list(committed) if constraint is not None else []
        for i, token in enumerate(self._index.following(self._match.at, MOST)):
            q = certain(token)
            if constraint is not None and not constraint.allowed(text[self._law.answer_start :], q.ids)[0]:
                return
            evidence = evidence_of(self._match.length + i, self._match.agreed)
            drawn = draw(q, i, evidence)
            if drawn is None:
                return
            self._told_until = len(committed) + i + 1
            yield DraftToken(drawn, q, evidence)
            text.append(drawn)

    def hindsight(self, committed: Sequence[int]) -> Sequence[tuple[Evidence, bool]]:
        """One for each token that a stretch seen before led up to."""
        index, found = self._index, []
        index.extend(committed[len(index.text) : self._told_until])
        for token in committed[len(index.text) :]:
            if match := index.match():
                found.append((evidence_of(match.length, match.agreed), index.text[match.at] == token))
            index.extend([token])
        return found

    def settle(self, length: int) -> None:
        """Forget what was proposed beyond: only what the answer took is indexed, and only once it is asked about."""
        self._told_until = min(self._told_until, length + 1)


def evidence_of(length: int, agreed: int) -> Evidence:
    """What a match of this length says."""
    step = sum(length >= start for start in _STEPS)
    guess = _GUESSES[step] + (1.0 - _GUESSES[step]) * 0.5 * agreed / _AGREED
    return Evidence(SuffixDrafter.name, step * (_AGREED + 1) + agreed, guess)
