"""How tokens are told apart wherever they are shown: their order on screen, their styles, their words in a legend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from specdesk.core.events import AnswerToken, Delta, DraftedToken, Outcome, Source, Step


class Kind(StrEnum):
    """What a piece of shown text is."""

    ACCEPTED = "accepted"
    REPLACEMENT = "replacement"
    BONUS = "bonus"
    PLAIN = "plain"
    REJECTED = "rejected"
    IGNORED = "ignored"
    """A draft token behind a rejected one, or behind the end of the answer."""


REFUSED: Final = frozenset({Kind.REJECTED, Kind.IGNORED})
"""What is shown only on request: it is no part of the answer."""


STYLES: Final = {
    Kind.ACCEPTED: "green",
    Kind.REPLACEMENT: "bold yellow",
    Kind.BONUS: "underline cyan",
    Kind.PLAIN: "",
    Kind.REJECTED: "strike red",
    Kind.IGNORED: "strike dim",
}
"""Rich styles. Each kind has a cue besides its colour, so that no colour is needed to read them."""

MARKS: Final = {
    Kind.ACCEPTED: "",
    Kind.REPLACEMENT: "=",
    Kind.BONUS: "+",
    Kind.PLAIN: "_",
    Kind.REJECTED: "~",
    Kind.IGNORED: "-",
}
"""What stands around a token of each kind where a terminal has no styles to tell them apart."""

_PLAIN_AMONG_DRAFTED: Final = "bold underline"
"""Without a draft every token is plain and nothing needs marking; among accepted ones a plain token must stand out."""

LEGEND: Final = {
    Kind.ACCEPTED: "accepted draft token",
    Kind.REPLACEMENT: "target's replacement",
    Kind.BONUS: "target's bonus token",
    Kind.PLAIN: "target, no draft",
    Kind.REJECTED: "rejected draft token",
    Kind.IGNORED: "drafted behind it",
}
"""What each kind is, in a few words."""

EXPLANATIONS: Final = {
    Kind.ACCEPTED: "Drafted, and the target let it stand.",
    Kind.REPLACEMENT: "Written by the target in the place of a rejected one.",
    Kind.BONUS: "Written by the target behind a draft that stood whole.",
    Kind.PLAIN: "Written by the target where nothing had been drafted.",
    Kind.REJECTED: "Drafted and refused: no part of the answer.",
    Kind.IGNORED: "Drafted behind a rejected one, and never looked at.",
}
"""The same in sentences."""

_KINDS: Final = {source: Kind(source.value) for source in Source}

_VISIBLE: Final = (
    {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"}
    | {0x7F: "\u2421"}
    | dict.fromkeys(range(128, 160), "�")
)


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of text and what it is."""

    text: str
    kind: Kind
    token: AnswerToken | None = field(default=None, compare=False)
    """The token of the answer whose text it is, where that is known."""
    draft: DraftedToken | None = field(default=None, compare=False)
    """What was drafted in that place, or the refused token itself."""

    @property
    def whole(self) -> AnswerToken | DraftedToken | None:
        """The token that it is, or is part of."""
        return self.token or self.draft


def styles(*, speculating: bool) -> dict[Kind, str]:
    """A Rich style for each kind, as it is told apart in an answer with or without a draft model."""
    return STYLES | {Kind.PLAIN: _PLAIN_AMONG_DRAFTED} if speculating else dict(STYLES)


def marks(*, speculating: bool) -> dict[Kind, str]:
    """A mark for each kind likewise, for terminals without styles."""
    return dict(MARKS) if speculating else MARKS | {Kind.PLAIN: ""}


def legend(*, short: bool, refused: bool = True, with_marks: bool = False) -> list[tuple[str, str]]:
    """What the styles mean in an answer with a draft, as (words, style): whole phrases, or a single word each.

    `with_marks` is for where the marks are shown too.
    """
    return [
        (marked(kind.value if short else LEGEND[kind], MARKS[kind] if with_marks else ""), style)
        for kind, style in styles(speculating=True).items()
        if refused or kind not in REFUSED
    ]


def marked(text: str, mark: str) -> str:
    """`text` between two marks; blanks at its ends stay outside, and blanks alone are left as they are."""
    inner = text.strip()
    return text.replace(inner, f"{mark}{inner}{mark}", 1) if inner else text


def spans(step: Step, *, show_rejected: bool, written: Sequence[AnswerToken] = ()) -> Iterator[Span]:
    """A step as it is shown: the rejected and ignored draft tokens, if wanted, stand before what replaced them.

    `written` are the tokens of the answer up to here, those of the step too, for spans to say whose they are.
    """
    first = len(written) - len(step.tokens)
    drafts = {first + position: token for position, token in enumerate(step.drafted[: len(step.tokens)])}
    final = list(delta_spans(step.deltas, written, drafts))
    if not show_rejected:
        yield from final
        return
    last = final.pop() if final and final[-1].kind is not Kind.ACCEPTED else None
    yield from final
    for token in step.drafted:
        if token.outcome is not Outcome.ACCEPTED:
            yield Span(alone(token.text), Kind(token.outcome.value), draft=token)
    if last is not None:
        yield last


def delta_spans(
    deltas: tuple[Delta, ...],
    written: Sequence[AnswerToken] = (),
    drafts: Mapping[int, DraftedToken] = MappingProxyType({}),
) -> Iterator[Span]:
    """Final text as spans; `drafts` are what was drafted in the places of tokens."""
    for delta in deltas:
        token = written[delta.token] if delta.token < len(written) else None
        yield Span(visible(delta.text), _KINDS[delta.source], token, drafts.get(delta.token))


def alone(text: str) -> str:
    """A token by itself, on one line. A part of a character is no broken one: a dotted circle stands for it."""
    return visible(text.replace("\ufffd", "\u25cc")).replace("\n", "\u23ce")


def visible(text: str) -> str:
    """`text` with control characters made visible: what a model writes must not drive the terminal."""
    return text.translate(_VISIBLE)
