"""What text is final, and when an answer ends, token by token."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

import pytest

from specdesk.core.events import Delta, Source, StopReason
from specdesk.core.stops import AnswerText
from tests.toy.models import ByteVocabulary


def transcript(pieces: Sequence[bytes], stops: Sequence[str] = (), max_tokens: int | None = None) -> AnswerText:
    return AnswerText(ByteVocabulary(dict(enumerate(pieces)), eog=[99]), max_tokens, stops)


def feed(t: AnswerText, tokens: Sequence[int]) -> tuple[list[str], StopReason | None]:
    """The text each token made final, the flush at the end as a last entry, and the reason."""
    shown: list[str] = []
    for token in tokens:
        deltas, reason = t.push(token, Source.PLAIN)
        shown.append("".join(delta.text for delta in deltas))
        if reason is not None:
            break
    else:
        reason = None
    shown.append("".join(delta.text for delta in t.flush()))
    return shown, reason


EMOJI = "🦜".encode()


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_half_a_character_is_never_shown(cut: int) -> None:
    shown, _ = feed(transcript([b"a", EMOJI[:cut], EMOJI[cut:], b"b"]), [0, 1, 2, 3])
    assert shown == ["a", "", "🦜", "b", ""]


def test_an_answer_that_ends_inside_a_character_says_so_once() -> None:
    assert feed(transcript([b"a", EMOJI[:2]]), [0, 1]) == (["a", "", "�"], None)


def test_joined_text_equals_the_decoded_bytes() -> None:
    rng = random.Random(3)
    data = "naïve 日本語 🏳️‍🌈 e\u0301 ascii".encode() * 3 + b"\xff\xfe ok"
    for _ in range(50):
        cuts = sorted({0, len(data), *(rng.randrange(len(data)) for _ in range(40))})
        pieces = [data[a:b] for a, b in pairwise(cuts)]
        shown, _ = feed(transcript(pieces), range(len(pieces)))
        assert "".join(shown) == data.decode(errors="replace")


@pytest.mark.parametrize(
    ("pieces", "stops", "shown", "reason"),
    [
        ([b"one STOP two"], ["STOP"], ["one "], StopReason.STOP),
        ([b"one ", b"ST", b"OP", b" two"], ["STOP"], ["one ", "", ""], StopReason.STOP),
        ([b"one ", b"ST", b"AY"], ["STOP"], ["one ", "", "STAY", ""], None),
        ([b"aa", b"aab"], ["aab"], ["", "aa"], StopReason.STOP),
        ([b"x", b"\n", b"\n", b"y"], ["\n\n"], ["x", "", ""], StopReason.STOP),
        ([b"early late"], ["late", "early"], [""], StopReason.STOP),
        ([b"S", b"T"], ["STOP"], ["", "", "ST"], None),
        ([b"caf\xc3", b"\xa9!"], ["é"], ["caf", ""], StopReason.STOP),
        ([b"ab", b"c"], ["abcd", "bc"], ["", "a"], StopReason.STOP),
    ],
)
def test_stop_strings_are_never_shown_not_even_in_part(
    pieces: list[bytes], stops: list[str], shown: list[str], reason: StopReason | None
) -> None:
    held_back = [""] if reason is StopReason.STOP else []
    assert feed(transcript(pieces, stops), range(len(pieces))) == ([*shown, *held_back], reason)


def test_an_end_token_ends_the_answer_and_shows_nothing() -> None:
    assert feed(transcript([b"a", b"b"]), [0, 99, 1]) == (["a", "", ""], StopReason.EOG)


def test_the_limit_counts_every_token() -> None:
    t = transcript([b"a", b"b", b"c"], max_tokens=2)
    assert t.n_left == 2
    assert feed(t, [0, 1, 2]) == (["a", "b", ""], StopReason.LENGTH)
    assert t.n_left == 0


def test_a_stop_string_at_the_limit_is_a_stop() -> None:
    assert feed(transcript([b"a", b"STOP"], ["STOP"], max_tokens=2), [0, 1]) == (["a", "", ""], StopReason.STOP)


def test_an_end_token_at_the_limit_is_an_end() -> None:
    assert feed(transcript([b"a"], max_tokens=2), [0, 99])[1] is StopReason.EOG


def test_text_keeps_the_source_of_the_token_it_came_from() -> None:
    t = transcript([b"one S", b"T", b"AY"], ["STOP"])
    assert t.push(0, Source.ACCEPTED)[0] == [Delta("one ", Source.ACCEPTED)]
    assert t.push(1, Source.ACCEPTED)[0] == []
    assert t.push(2, Source.REPLACEMENT)[0] == [
        Delta("S", Source.ACCEPTED, 0),
        Delta("T", Source.ACCEPTED, 1),
        Delta("AY", Source.REPLACEMENT, 2),
    ]


@pytest.mark.parametrize(("limit", "stops"), [(0, []), (-1, []), (None, [""])])
def test_senseless_limits_are_refused(limit: int | None, stops: list[str]) -> None:
    with pytest.raises(ValueError, match="must"):
        transcript([b"a"], stops, limit)


def test_half_a_character_behind_a_stop_string_is_dropped_too() -> None:
    assert feed(transcript([b"one ", b"STOP" + EMOJI[:2]], ["STOP"]), [0, 1]) == (["one ", "", ""], StopReason.STOP)


def test_what_is_left_of_a_character_belongs_to_who_wrote_it() -> None:
    t = transcript([b"a", EMOJI[:2]])
    t.push(0, Source.ACCEPTED)
    t.push(1, Source.BONUS)
    assert t.flush() == [Delta("\ufffd", Source.BONUS, 1)]
