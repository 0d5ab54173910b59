"""Do two vocabularies name the same tokens? Then drafts of one model mean the same to the other."""

from __future__ import annotations

from typing import Protocol


class Texts(Protocol):
    """A vocabulary as its entries."""

    @property
    def n_used(self) -> int:
        """Tokens up to the last one that means something; those behind it only fill the table up to a round size."""

    def text(self, token: int) -> bytes:
        """The entry of a token."""


def first_difference(target: Texts, draft: Texts) -> str | None:
    """The first token, padding left out, that is not the same in both, in words; None where all are.

    A vocabulary's size says nothing about its texts.
    """
    for token in range(min(target.n_used, draft.n_used)):
        ours, theirs = target.text(token), draft.text(token)
        if ours != theirs:
            return f"token {token} is {_shown(theirs)} in the draft and {_shown(ours)} in the target"
    if target.n_used != draft.n_used:
        longer = target if target.n_used > draft.n_used else draft
        token = min(target.n_used, draft.n_used)
        return f"token {token}, {_shown(longer.text(token))}, is in only one of the two vocabularies"
    return None


def _shown(text: bytes) -> str:
    return repr(text.decode("utf-8", errors="replace"))
