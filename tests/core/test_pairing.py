"""Which pairs are usable, usable without some tokens, or refused, on vocabularies of a few words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

from specdesk.core.pairing import Model, Verdict, judge


@dataclass(frozen=True)
class Words:
    """A vocabulary of these words: <one> is special, . is unused."""

    words: tuple[str, ...]
    kind: str = "gpt2"
    bos: int | None = None
    eos: int | None = None
    adds_bos: bool | None = None

    @property
    def n_tokens(self) -> int:
        return len(self.words)

    @property
    def n_used(self) -> int:
        n = self.n_tokens
        while n > 1 and self.words[n - 1] == ".":
            n -= 1
        return n

    def text(self, token: int) -> bytes:
        return self.words[token].encode()

    def is_special(self, token: int) -> bool:
        return self.words[token] == "." or self.words[token].startswith("<")


NO_ROW = " the draft has no row to read it by"


def words(text: str) -> Words:
    return Words(tuple(text.split()))


def verdict(target: str, draft: str) -> Verdict:
    return judge(Model(words(target)), Model(words(draft)))


@pytest.mark.parametrize(
    ("target", "draft", "said"),
    [
        ("a b c", "a b c", "all 3 tokens are the same"),
        ("a b c . .", "a b c", "all 3 tokens are the same but for padding"),
        ("a b c", "a b c . . .", "all 3 tokens are the same but for padding"),
        ("a . c", "a . c", "all 3 tokens are the same"),
    ],
)
def test_padding_makes_no_difference(target: str, draft: str, said: str) -> None:
    assert verdict(target, draft) == Verdict(usable=True, why=said)


@pytest.mark.parametrize(
    ("target", "draft", "banned", "said"),
    [
        ("a <t> b", "a <d> b", (1,), "token 1 is '<d>' in the draft and '<t>' in the target"),
        ("a b <t>", "a b .", (2,), "token 2 is '<t>' in the target and not in the draft"),
        ("a b . .", "a b . <d>", (2, 3), "2 special tokens differ and are never drafted, the first: token 2 is '.'"),
        ("a b", "a b <d> <e>", (2, 3), "token 2 is '<d>' in the draft and not in the target"),
        ("<s> a <t> b <u>", "<s> a <d> b <e>", (2, 4), "2 special tokens differ and are never drafted"),
    ],
)
def test_special_tokens_that_differ_are_banned(target: str, draft: str, banned: Sequence[int], said: str) -> None:
    found = verdict(target, draft)
    assert found.usable
    assert found.banned == banned
    assert said in found.sentence


@pytest.mark.parametrize(
    ("target", "draft", "said"),
    [
        ("a b c", "a x c", "token 1 is 'x' in the draft and 'b' in the target"),
        ("a b", "b a c", "token 0 is 'b' in the draft and 'a' in the target"),
        ("a <t> c", "a b c", "token 1 is 'b' in the draft and '<t>' in the target"),
        ("a b c", "a b .", "token 2 is 'c' in the target and not in the draft"),
        ("a b", "a b c", "token 2 is 'c' in the draft and not in the target"),
        (
            "a b <t>",
            "a b",
            "token 2 is '<t>' in the target and not in the draft, and" + NO_ROW,
        ),
        ("a <t> b c", "a <d> b x", "token 3 is 'x' in the draft and 'c' in the target"),
    ],
    ids=["other text", "swapped", "special or not", "padding or not", "more in the draft", "no row", "behind a ban"],
)
def test_an_ordinary_token_that_differs_is_a_refusal_that_names_both_texts(target: str, draft: str, said: str) -> None:
    assert verdict(target, draft) == Verdict(usable=False, why=said)


@pytest.mark.parametrize(("target", "draft"), [("<a> <b>", "<c> <d>"), ("<a>", "<b> <c>"), ("<a> <b>", "<c> .")])
def test_nothing_in_common_is_a_refusal(target: str, draft: str) -> None:
    """All of it special, so that each could be banned: then nothing is left to be drafted."""
    found = verdict(target, draft)
    assert not found.usable
    assert found.why.startswith("no token is the same in both, so none could be drafted: token 0 is '<")
    assert verdict(f"x {target}", f"x {draft}").usable, "one token is enough"


def test_tokenizers_of_another_kind_are_refused_with_their_first_difference() -> None:
    other = replace(words("Ġa b"), kind="llama")
    found = judge(Model(words("a b")), Model(other))
    assert found.sentence == (
        "refused: their tokenizers are of different kinds, llama in the draft and gpt2 in the target; "
        "token 0 is 'Ġa' in the draft and 'a' in the target"
    )
    assert not judge(Model(words("a b")), Model(replace(words("a b"), kind="llama"))).usable


def test_properties_over_random_vocabularies() -> None:
    """Every verdict on random tables of up to 8 entries: seeded, so it holds always or never.

    A usable pair means the same by every token that can be drafted, the draft can read whatever the target can write,
    and its padding is banned or cut off; a refused one names a token that tells the two apart.
    """
    rng = np.random.default_rng(5)
    n_usable = n_banned = 0
    for _ in range(20_000):
        size = int(rng.integers(2, 9))
        texts = [f"w{i}" if rng.random() < 0.8 else f"<{i}>" for i in range(size)]
        tables = []
        for _side in range(2):
            table = [
                f"<{int(rng.integers(3))}>" if text.startswith("<") and rng.random() < 0.4 else text for text in texts
            ]
            if rng.random() < 0.15:
                table[int(rng.integers(size))] = f"w{int(rng.integers(size))}"
            if rng.random() < 0.3:
                table[int(rng.integers(size))] = "."
            tables.append(Words((*table, *["."] * int(rng.integers(3)))))
        target, draft = tables
        found = judge(Model(target), Model(draft))
        assert found == judge(Model(target), Model(draft))
        unequal = [
            token
            for token in range(max(target.n_used, draft.n_used))
            if token >= min(target.n_used, draft.n_used) or target.text(token) != draft.text(token)
        ]
        if not found.usable:
            assert any(f"token {token} " in found.sentence for token in unequal)
            continue
        n_usable += 1
        n_banned += bool(found.banned)
        assert list(found.banned) == unequal
        assert target.n_used <= draft.n_tokens
        assert set(range(min(target.n_used, draft.n_used))) - set(found.banned), "something is left to be drafted"
        assert found.sentence.startswith("usable: ")
        assert "\n" not in found.sentence
    assert n_usable > 2_000
    assert n_banned > 500


def test_what_cannot_be_cut_back_cannot_speculate() -> None:
    plain = Model(words("a b"))
    for pair, role in (((replace(plain, most_cut=0), plain), "target"), ((plain, replace(plain, most_cut=0)), "draft")):
        found = judge(*pair)
        assert not found.usable
        assert found.sentence.startswith(
            f"refused: the {role} keeps a running state (recurrent) that cannot be cut back"
        )


def test_drafts_are_as_long_as_both_caches_can_be_cut_back() -> None:
    plain = Model(words("a b"))
    found = judge(replace(plain, most_cut=8), replace(plain, most_cut=5))
    assert (found.usable, found.most_drafted) == (True, 5)
    assert "a cache can be cut back by 5 tokens at most, so no more are drafted" in found.notes
    assert judge(plain, plain).most_drafted is None
    least = judge(plain, replace(plain, most_cut=1))
    assert (least.usable, least.most_drafted) == (True, 1)
    assert "a cache can be cut back by 1 token at most, so no more are drafted" in least.notes


def test_texts_that_are_no_utf_8_are_named_all_the_same() -> None:
    """A token may be a part of a character."""

    class Bytes(Words):
        def text(self, token: int) -> bytes:
            return b"\xe2\x82" if token else b"\xff"

    (refused,) = {judge(Model(Bytes(("a", "b"))), Model(words("a b"))).sentence}
    assert refused == "refused: token 0 is 'a' in the draft and '\ufffd' in the target"


@pytest.mark.parametrize(
    ("target", "draft", "said"),
    [
        (7.0e9, 0.5e9, ()),
        (3.0e9, 1.0e9, ("the target is 3.0 times as large as the draft, so gains are small",)),
        (1.0e9, 1.0e9, ("the draft is no smaller than the target, so drafting with it cannot save time",)),
        (0.0, 1.0e9, ()),
    ],
)
def test_a_draft_too_large_to_pay_is_said(target: float, draft: float, said: Sequence[str]) -> None:
    tokens = words("a b")
    found = judge(Model(tokens, active=target), Model(tokens, active=draft))
    assert found.usable
    assert found.notes == said


def test_experts_are_said() -> None:
    tokens = words("a b")
    found = judge(Model(tokens, active=3.0e9, n_experts=128), Model(tokens, active=1.0e9))
    assert [note.split(":")[0].split(",")[0] for note in found.notes] == [
        "the target is 3.0 times as large as the draft",
        "the target is a mixture of 128 experts",
    ]


def test_other_special_ids_and_templates_are_notes_alone() -> None:
    one = Model(replace(words("a <s> <e>"), bos=1, eos=2, adds_bos=True), chat_template="x")
    other = Model(replace(words("a <s> <e>"), bos=2, eos=1, adds_bos=False), chat_template="y")
    assert judge(one, other).notes == (
        "a text begins with token 1 for the target and 2 for the draft: the target's is used",
        "a text ends with token 2 for the target and 1 for the draft: the target's is used",
        "the target expects a BOS before every text, the draft does not: the target's way is used",
        "their chat templates differ: the target's writes the prompt for both",
    )
    unknown = Model(replace(words("a <s> <e>"), bos=-1))
    assert judge(one, unknown).notes == ()
