"""Which part of a conversation is sent where all of it does not fit into the context."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import takewhile

from specdesk.engine.message import Message


def turns_left_out(
    messages: Sequence[Message],
    fits: Callable[[Sequence[Message]], bool],
    size: Callable[[Message], int],
    block: int,
) -> int | None:
    """How many of the oldest messages behind the system prompt have to go; None if even the last question is too long.

    What stays begins with a question, as some templates insist. The window moves on by whole blocks of `block` in
    `size`: if each question pushed out just as much as it needs, no answer would find its prompt in the cache.
    """
    n_system = sum(1 for _ in takewhile(lambda message: message.role == "system", messages))

    def kept_fit(start: int) -> bool:
        return fits([*messages[:n_system], *messages[start:]])

    starts = [i for i in range(n_system, len(messages)) if messages[i].role == "user"]
    before = {start: sum(map(size, messages[n_system:start])) for start in starts}
    blocks = [0, *(before[start] // block for start in starts)]
    moved = [start for start, earlier, now in zip(starts, blocks, blocks[1:], strict=False) if now > earlier]
    for candidates in ([n_system], moved, starts):
        found = bisect_left(candidates, True, key=kept_fit)
        if found < len(candidates):
            return candidates[found] - n_system
    return None


def characters_left_out(text: str, fits: Callable[[str], bool]) -> int | None:
    """How many characters at the beginning of `text` have to go; None if not even the last one fits."""
    found = bisect_left(range(len(text)), True, key=lambda start: fits(text[start:]))
    return found if found < len(text) else None
