"""What a model thinks before it answers, apart from the answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

_OPEN: Final = "<think>"
_CLOSE: Final = "</think>"


class Kind(Enum):
    """What a part of an answer is."""

    REASONING = "reasoning"
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class Part:
    """A section of reasoning or the answer, or a piece of one of them."""

    kind: Kind
    text: str
    """Without the tags; where there was reasoning, without the white space around them too."""
    closed: bool
    """Whether it ends here; the answer has no end."""


class ReasoningSplitter:
    """Tells reasoning from answer while the text grows, wherever it is cut.

    Sections are looked for only before the answer: where a model writes about the tags, they are text. `opened`: the
    text begins within a section, since the template of the prompt has opened one.
    """

    def __init__(self, *, opened: bool = False) -> None:
        self._kind = Kind.REASONING if opened else Kind.ANSWER
        self._begun = False
        """Some text of the section or of the answer has come."""
        self._behind_section = False
        self._held = ""
        """What may turn out to be a tag, and white space that may stand around one."""

    def add(self, text: str) -> Iterator[Part]:
        """The pieces that `text` adds; a section with an end but without text is an empty piece."""
        text, self._held = self._held + text, ""
        while text:
            if self._kind is Kind.REASONING:
                inside, tag, text = text.partition(_CLOSE)
                yield from self._reasoning(inside, closed=bool(tag))
            elif self._begun:
                yield Part(Kind.ANSWER, text, closed=False)
                return
            elif (stripped := text.lstrip()).startswith(_OPEN):
                self._kind = Kind.REASONING
                text = stripped.removeprefix(_OPEN)
            elif _OPEN.startswith(stripped):
                self._held = text
                return
            else:
                self._begun = True
                text = stripped if self._behind_section else text

    def finish(self) -> Iterator[Part]:
        """There is no more text: what was held back is no tag."""
        held, self._held = self._held, ""
        if self._kind is Kind.REASONING or self._behind_section:
            held = held if held.strip() else ""
        if held:
            yield Part(self._kind, held, closed=False)

    def _reasoning(self, text: str, *, closed: bool) -> Iterator[Part]:
        if not self._begun:
            text = text.lstrip()
        kept = text.rstrip() if closed else text[: -_n_held(text) or None]
        self._held = "" if closed else text[len(kept) :]
        self._begun |= bool(kept)
        if kept or closed:
            yield Part(Kind.REASONING, kept, closed)
        if closed:
            self._kind, self._begun, self._behind_section = Kind.ANSWER, False, True


def _n_held(text: str) -> int:
    """How many characters at the end may be the beginning of the closing tag, with the white space before it."""
    n_of_tag = next((n for n in range(len(_CLOSE) - 1, 0, -1) if text.endswith(_CLOSE[:n])), 0)
    before = text[: len(text) - n_of_tag]
    return n_of_tag + len(before) - len(before.rstrip())
