"""A transfer that survives lost connections: it is asked for again from where it broke off."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Sequence
from typing import Final

from rich.filesize import decimal

from specdesk.hub.sources.source import BrokenOffError, BusyError, SourceError, SourceUnreachableError
from specdesk.hub.stopping import Stop, pause

PAUSES_S: Final = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Before each further try that is made although the last one brought nothing."""

LONGEST_WAIT_S: Final = 60.0
"""A server that asks to be left alone for longer is given up."""


def reconnecting(
    ask: Callable[[int], Generator[bytes]],
    start: int,
    *,
    pauses_s: Sequence[float] = PAUSES_S,
    notice: Callable[[str], None],
    stop: Stop,
) -> Generator[bytes]:
    """The chunks of `ask(start)`, and where these break off, of `ask` from there on.

    Every byte that comes brings all pauses back. Each further try is said, with its cause.
    Raises: what `ask` raised last, when the pauses are used up, or another try would not help; Interrupted.
    """
    at, left = start, iter(pauses_s)
    while True:
        before = at
        try:
            with contextlib.closing(ask(at)) as chunks:
                for chunk in chunks:
                    at += len(chunk)
                    yield chunk
        except SourceError as error:
            if at > before:
                left = iter(pauses_s)
            wait_s = _wait_s(error, next(left, None), going_on=at > start)
            if wait_s is None:
                raise
            where = f"going on from {decimal(at)}" if at else "trying again"
            notice(f"{error}; {where} in {wait_s:g} s" if wait_s else f"{error}; {where}")
            pause(wait_s, stop)
        else:
            return


def _wait_s(error: SourceError, pause_s: float | None, *, going_on: bool) -> float | None:
    """How long to wait before the next try; None where there should be none."""
    if pause_s is None:
        return None
    match error:
        case BrokenOffError():
            return pause_s
        case BusyError(wait_s=float(asked_s)):
            return max(asked_s, pause_s) if asked_s <= LONGEST_WAIT_S else None
        case BusyError() | SourceUnreachableError():
            # What never delivered is not worth waiting for while there are other sources.
            return pause_s if going_on else None
    return None
