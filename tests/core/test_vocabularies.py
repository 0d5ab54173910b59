from __future__ import annotations

from dataclasses import dataclass

import pytest

from specdesk.core.vocabularies import first_difference


@dataclass
class Words:
    """A vocabulary of these words."""

    words: list[str]

    @property
    def n_used(self) -> int:
        return len(self.words)

    def text(self, token: int) -> bytes:
        return self.words[token].encode()


@pytest.mark.parametrize(
    ("target", "draft", "said"),
    [
        ("a b c", "a b c", None),
        ("a b c", "a x c", "token 1 is 'x' in the draft and 'b' in the target"),
        ("a b c", "a b", "token 2, 'c', is in only one of the two vocabularies"),
        ("a b", "a b c", "token 2, 'c', is in only one of the two vocabularies"),
        ("a b", "b a c", "token 0 is 'b' in the draft and 'a' in the target"),
    ],
)
def test_the_first_difference_is_named(target: str, draft: str, said: str | None) -> None:
    assert first_difference(Words(target.split()), Words(draft.split())) == said
