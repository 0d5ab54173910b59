"""What one target pass over a draft comes to: its rows as laws, the tokens that join the answer, the others' fate."""

from __future__ import annotations

from specdesk.core.candidates import lead
from specdesk.core.constraint import DeadEnd
from specdesk.core.events import Alternative, AnswerToken, Delta, DraftedToken, Outcome, Source, StopReason
from specdesk.core.law import Law
from specdesk.core.lm import Logits, Vocabulary
from specdesk.core.stops import AnswerText
from specdesk.core.verify import DraftToken, Verdict
from specdesk.core.warp import Distribution


class PassRows:
    """The rows of a pass as distributions, each made once, and only if it is asked for.

    Penalties and constraint see at each row the draft tokens before it and none behind it. A row where the constraint
    allows nothing joins `dead_ends`. It may lie behind a token that will not stand, so it still gets a distribution to
    judge by, that of the logits alone: how likely the text before a row is does not depend on what the row says.
    """

    def __init__(
        self, rows: Logits, committed: list[int], drafts: list[DraftToken], law: Law, vocabulary: Vocabulary
    ) -> None:
        self.dead_ends: set[int] = set()
        self._rows = rows
        self._n_before = len(committed)
        self._text = [*committed, *(draft.token for draft in drafts)] if law.reads_text else []
        self._law = law
        # What is drawn behind an end token is dropped, and a constraint has nothing to say there.
        self._ended_at = len(drafts) if drafts and vocabulary.is_eog(drafts[-1].token) else None
        self._made: dict[int, Distribution] = {}

    def at(self, row: int) -> Distribution:
        """What row number `row` is sampled from."""
        if row not in self._made:
            self._made[row] = self._make(row)
        return self._made[row]

    def lead(self, row: int) -> float:
        """How far its highest logit is above the second."""
        return lead(self._rows[row])

    def _make(self, row: int) -> Distribution:
        before = self._text[: self._n_before + row]
        if row == self._ended_at:
            return self._law.unconstrained.at(self._rows[row], before)
        try:
            return self._law.at(self._rows[row], before)
        except DeadEnd:
            self.dead_ends.add(row)
            return self._law.unconstrained.at(self._rows[row], before)


def taken(
    verdict: Verdict,
    drafts: list[DraftToken],
    rows: PassRows,
    text: AnswerText,
    vocabulary: Vocabulary,
    *,
    placed: bool,
    n_alternatives: int,
) -> tuple[list[AnswerToken], list[Delta], StopReason | None]:
    """Let the verdict's tokens join the answer one by one, up to the one that ends it, or before a dead end.

    With `placed` each tells where it lies in its law; each tells so many of the likeliest tokens in its place.
    """
    written = [(test.token, test.p, Source.ACCEPTED) for test in verdict.tests if test.accepted]
    last = Source.PLAIN if not drafts else Source.REPLACEMENT if verdict.rejected else Source.BONUS
    written.append((verdict.token, verdict.p, last))
    tokens: list[AnswerToken] = []
    deltas: list[Delta] = []
    for position, (token, p, source) in enumerate(written):
        law = rows.at(position)
        if position in rows.dead_ends:
            break
        final, reason = text.push(token, source)
        ahead = law.ahead(token) if placed else None
        favoured = law.favoured(token, drafts[position].q) if placed and position < len(drafts) else None
        others = tuple(Alternative(at, _text(at, vocabulary), p_at) for at, p_at in law.likeliest(n_alternatives))
        lead = rows.lead(position)
        tokens.append(AnswerToken(token, _text(token, vocabulary), source, p, ahead, favoured, lead, others))
        deltas.extend(final)
        if reason is not None:
            return tokens, deltas, reason
    return tokens, deltas, None


def outcomes(
    drafts: list[DraftToken], verdict: Verdict, n_taken: int, vocabulary: Vocabulary
) -> tuple[DraftedToken, ...]:
    """What became of each draft token, of which the answer took `n_taken` (its follower counted)."""
    found: list[DraftedToken] = []
    for position, draft in enumerate(drafts):
        test = verdict.tests[position] if position < len(verdict.tests) else None
        if test is None or position >= n_taken:
            outcome = Outcome.IGNORED
        else:
            outcome = Outcome.ACCEPTED if test.accepted else Outcome.REJECTED
        q = draft.q.prob(draft.token)
        p = None if test is None else test.p
        found.append(DraftedToken(draft.token, _text(draft.token, vocabulary), q, p, outcome))
    return tuple(found)


def _text(token: int, vocabulary: Vocabulary) -> str:
    return vocabulary.piece(token).decode("utf-8", errors="replace")
