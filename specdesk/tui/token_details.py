"""One token in words: who wrote it, how likely it was, and what else might have stood there."""

from __future__ import annotations

from typing import Final

from specdesk.core.events import AnswerToken, DraftedToken
from specdesk.tokenview import LEGEND, Kind, Span, alone

_LONGEST: Final = 14


def details(span: Span) -> list[str]:
    """Lines for a panel, the most telling one first."""
    token, draft = span.token, span.draft
    if token is None:
        return [] if draft is None else [f"{quoted(draft.text)}  {LEGEND[span.kind]}", _drafted(draft)]
    lines = [f"{quoted(token.text)}  {LEGEND[span.kind]}"]
    if span.kind is Kind.ACCEPTED and draft is not None:
        lines.append(f"p {token.p:.3f}   q {draft.q:.3f}")
    else:
        lines.append(f"p {token.p:.3f}")
        if draft is not None:
            lines.append(f"for {quoted(draft.text)}  {_drafted(draft)}")
    return lines + _alternatives(token)


def summary(span: Span) -> str:
    """The same on one line."""
    return "  ".join(details(span)[:3])


def _drafted(draft: DraftedToken) -> str:
    p = "not looked at" if draft.p is None else f"p {draft.p:.3f}"
    return f"{p}   q {draft.q:.3f}"


def _alternatives(token: AnswerToken) -> list[str]:
    others = [other for other in token.alternatives if other.id != token.id]
    return ["instead:", *(f"  {other.p:.3f}  {quoted(other.text)}" for other in others)] if others else []


def quoted(text: str) -> str:
    """A token between quotes, on one line and not too long."""
    shown = alone(text).replace("\t", "\u21e5")
    return f"‹{shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + '…'}›"
