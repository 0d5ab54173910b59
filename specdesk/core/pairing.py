"""May these two speculate together? The rules, as a pure function of what is known of two models.

Drafting is exact whatever is proposed: a bad draft costs time, never the answer's law. So a pair is refused where
drafts could only be noise or could not be made at all, and single tokens that differ are kept out of the drafts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Protocol

_THIN: Final = 4.0
"""A target that computes with less than so many times the draft's weights gains little: each draft token costs too much
of a target pass."""


class Vocabulary(Protocol):
    """A table of tokens."""

    @property
    def kind(self) -> str:
        """The tokenizer's name in the file: llama (SentencePiece), gpt2 (BPE), ..."""

    @property
    def n_tokens(self) -> int:
        """Rows of the table, padding included: ids from here on cannot be read by its model."""

    @property
    def n_used(self) -> int:
        """Tokens up to the last one that means something; those behind it only fill the table up to a round size."""

    @property
    def bos(self) -> int | None:
        """The token that begins a text; None where it is not known, negative where there is none. `eos` likewise."""

    @property
    def eos(self) -> int | None:
        """The token that ends one."""

    @property
    def adds_bos(self) -> bool | None:
        """Whether every text begins with it; None where that is not known."""

    def text(self, token: int) -> bytes:
        """The entry of a token."""

    def is_special(self, token: int) -> bool:
        """Whether it stands for no text of its own: control tokens, what a user defined, unknown and unused ones."""


@dataclass(frozen=True, slots=True)
class Model:
    """What a pair is judged by."""

    vocabulary: Vocabulary
    chat_template: str | None = None
    most_cut: int | None = None
    """Tokens at its end that the cache can be cut back by; None: any number, 0: none."""
    active: float = 0.0
    """Weights that one token is computed with, in a unit of both models; 0: not known."""
    n_experts: int = 0
    """Experts that each token chooses from; 0 for a dense model."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether they may, why, and with what reservations."""

    usable: bool
    why: str
    banned: tuple[int, ...] = ()
    """Tokens that differ, ascending: the draft must never propose them."""
    most_drafted: int | None = None
    """Tokens a draft may have, since that many can be taken back; None: no limit."""
    notes: tuple[str, ...] = ()
    """What else there is to know; none of it touches exactness."""

    @property
    def sentence(self) -> str:
        """All that is to be said in one."""
        return f"{'usable' if self.usable else 'refused'}: {self.why}"


def judge(target: Model, draft: Model) -> Verdict:
    """The verdict on a pair. Padding makes no difference, and a vocabulary's size says nothing about its texts.

    Ordinary tokens must all be the same: one that differs is the mark of another tokenizer. Special ones differ among
    the models of one family; they are banned from drafts.
    """
    banned: list[int] = []
    for token in _differing(target.vocabulary, draft.vocabulary):
        refusal = _refusal(token, target.vocabulary, draft.vocabulary)
        if refusal is not None:
            return Verdict(usable=False, why=refusal)
        banned.append(token)
    both = min(target.vocabulary.n_used, draft.vocabulary.n_used)
    if banned[:both] == list(range(both)):
        first = _difference(0, target.vocabulary, draft.vocabulary)
        return Verdict(usable=False, why=f"no token is the same in both, so none could be drafted: {first}")
    for role, model in (("target", target), ("draft", draft)):
        if model.most_cut == 0:
            return Verdict(usable=False, why=cannot_be_cut_back(role))
    caps = [model.most_cut for model in (target, draft) if model.most_cut is not None]
    return Verdict(
        usable=True,
        why=_sameness(banned, target.vocabulary, draft.vocabulary),
        banned=tuple(banned),
        most_drafted=min(caps, default=None),
        notes=tuple(_notes(target, draft, min(caps, default=None))),
    )


def cannot_be_cut_back(whose: str) -> str:
    """Why nothing can be drafted with a model whose cache keeps what was rejected."""
    return f"the {whose} keeps a running state (recurrent) that cannot be cut back, so no draft token could be rejected"


def capped(most_drafted: int) -> str:
    """Why drafts are no longer than that."""
    tokens = f"{most_drafted} token{'' if most_drafted == 1 else 's'}"
    return f"a cache can be cut back by {tokens} at most, so no more are drafted"


def gains_little(target: float, draft: float) -> bool:
    """Whether a draft is too large for its target, by the weights that each computes a token with."""
    return target / max(1.0, draft) < _THIN


def size_note(target: float, draft: float) -> str:
    """What these weights promise."""
    times = target / max(1.0, draft)
    if round(times, 1) <= 1:
        return "the draft is no smaller than the target, so drafting with it cannot save time"
    words = f"the target is {times:.1f} times as large as the draft"
    return f"{words}, so gains are small" if gains_little(target, draft) else words


def _differing(target: Vocabulary, draft: Vocabulary) -> Iterator[int]:
    """The tokens, ascending, that are not the same in both."""
    if target.kind != draft.kind:
        # Whatever the texts are, they are not to be read as the same: one spells spaces as another spells letters.
        yield next(_unequal(target, draft), 0)
        return
    yield from _unequal(target, draft)


def _unequal(target: Vocabulary, draft: Vocabulary) -> Iterator[int]:
    both = min(target.n_used, draft.n_used)
    yield from (token for token in range(both) if target.text(token) != draft.text(token))
    yield from range(both, max(target.n_used, draft.n_used))


def _refusal(token: int, target: Vocabulary, draft: Vocabulary) -> str | None:
    """Why this difference cannot be lived with; None where it is enough that the token is never drafted."""
    said = _difference(token, target, draft)
    if target.kind != draft.kind:
        kinds = f"{draft.kind} in the draft and {target.kind} in the target"
        return f"their tokenizers are of different kinds, {kinds}; {said}"
    if token >= draft.n_tokens:
        return f"{said}, and the draft has no row to read it by"
    special = all(token >= side.n_used or side.is_special(token) for side in (target, draft))
    return None if special else said


def _difference(token: int, target: Vocabulary, draft: Vocabulary) -> str:
    ours = _shown(token, target)
    theirs = _shown(token, draft)
    if ours is None:
        return f"token {token} is {theirs} in the draft and not in the target"
    if theirs is None:
        return f"token {token} is {ours} in the target and not in the draft"
    return f"token {token} is {theirs} in the draft and {ours} in the target"


def _shown(token: int, vocabulary: Vocabulary) -> str | None:
    if token >= vocabulary.n_used:
        return None
    return repr(vocabulary.text(token).decode("utf-8", errors="replace"))


def _sameness(banned: list[int], target: Vocabulary, draft: Vocabulary) -> str:
    if not banned:
        padding = " but for padding" if target.n_tokens != draft.n_tokens else ""
        return f"all {target.n_used:,} tokens are the same{padding}"
    first = _difference(banned[0], target, draft)
    if len(banned) == 1:
        return f"one special token differs and is never drafted: {first}"
    return f"{len(banned):,} special tokens differ and are never drafted, the first: {first}"


def _notes(target: Model, draft: Model, most_drafted: int | None) -> Iterator[str]:
    ours, theirs = target.vocabulary, draft.vocabulary
    for name, own, others in (("begins", ours.bos, theirs.bos), ("ends", ours.eos, theirs.eos)):
        if own is not None and others is not None and own != others and min(own, others) >= 0:
            yield f"a text {name} with token {own} for the target and {others} for the draft: the target's is used"
    if ours.adds_bos is not None and theirs.adds_bos is not None and ours.adds_bos != theirs.adds_bos:
        one, other = ("target", "draft") if ours.adds_bos else ("draft", "target")
        yield f"the {one} expects a BOS before every text, the {other} does not: the target's way is used"
    if target.chat_template and draft.chat_template and target.chat_template != draft.chat_template:
        yield "their chat templates differ: the target's writes the prompt for both"
    if most_drafted is not None:
        yield capped(most_drafted)
    if target.active and draft.active and gains_little(target.active, draft.active):
        yield size_note(target.active, draft.active)
    if target.n_experts:
        yield (
            f"the target is a mixture of {target.n_experts} experts: several tokens in a pass read more of them "
            "than one does, so drafting pays later than for a dense model"
        )
