"""What a sequence of events amounts to."""

from __future__ import annotations

from collections.abc import Iterable

from specdesk.core.answer import Answer
from specdesk.core.events import Event, StopReason


def fold(events: Iterable[Event]) -> Answer:
    """The answer of all events."""
    answer = Answer()
    for event in events:
        answer.add(event)
    return answer


def ids(events: Iterable[Event]) -> list[int]:
    """Its token ids."""
    return fold(events).token_ids


def text(events: Iterable[Event]) -> str:
    """Its text."""
    return fold(events).text


def reason(events: Iterable[Event]) -> StopReason:
    """Why it ended; fails if it has not."""
    ended = fold(events).reason
    assert ended is not None
    return ended
