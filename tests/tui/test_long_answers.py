"""A long answer: what it costs to show does not grow with it, and keys are still answered at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from statistics import median

import pytest

from specdesk.core.events import Step
from specdesk.tui.chat.state import State
from specdesk.tui.view import View
from tests.tui.driver import Chat
from tests.tui.scripted import END, step

Make = Callable[..., Chat]

N_TOKENS = 8_000
RATE = 200
"""Tokens per second that are shown."""
REPAINTS = 15
"""A second, at most: so many tokens come with each."""
PER_REPAINT = RATE // REPAINTS + 1
N_LOOKED_AT = 1_000
"""At the beginning and at the end; what is between comes in larger pieces, which is faster."""
KEY_S = 0.1


def written() -> Iterator[Step]:
    """An answer of that many tokens, most of it in one fence of a thousand lines."""
    texts = ["Here ", "it ", "is:\n\n", "```python\n"]
    texts += [
        part for n in range(1_000) for part in (f"value_{n}", " = ", f"compute({n}, ", '"text"', ", key=", "[1])\n")
    ]
    texts += ["```\n"]
    texts += [part for n in range(N_TOKENS) for part in (f"word{n} ", "and ", "more", ".\n\n" if n % 20 == 0 else " ")]
    for number, text in enumerate(texts[:N_TOKENS]):
        yield (
            step([], text, index=number, first=number)
            if number % 3
            else step([], text, rejected=["x"], index=number, first=number)
        )


def pieces(steps: list[Step]) -> Iterator[list[Step]]:
    at = 0
    while at < len(steps):
        looked_at = at < N_LOOKED_AT or at >= len(steps) - N_LOOKED_AT
        n = PER_REPAINT if looked_at else min(500, len(steps) - N_LOOKED_AT - at)
        yield steps[at : at + n]
        at += n


@pytest.mark.timeout(240)
@pytest.mark.parametrize("view", [View.TOKENS, View.MARKDOWN])
async def test_showing_costs_no_more_at_the_end(make_chat: Make, view: View) -> None:
    """By the time of the thread that draws, so that a busy machine does not matter: at most twice the first costs."""
    steps = list(written())
    spent: list[float] = []
    keys: list[float] = []
    chat = make_chat()
    async with chat.run(size=(130, 40), view=view) as see:
        await see.ask("go")
        for number, part in enumerate(pieces(steps)):
            began = time.thread_time()
            await see.stream(*part)
            spent.append((time.thread_time() - began) / len(part))
            if number % 2 == 0 and len(part) <= PER_REPAINT:
                began = time.thread_time()
                await see.pilot.press("a")
                keys.append(time.thread_time() - began)
        see.engine.feed(END)
        await see.until_state(State.READY)
        assert len(see.last.text) == sum(len(delta.text) for s in steps for delta in s.deltas)
    n = N_LOOKED_AT // PER_REPAINT
    first, last = median(spent[:n]), median(spent[-n:])
    figures = f"{1000 * first:.2f} ms a token at first, {1000 * last:.2f} at last, a key {1000 * median(keys):.0f} ms"
    print(f"{view}: {figures}")  # noqa: T201
    assert last <= 2 * first
    assert sorted(keys)[int(0.95 * len(keys))] < KEY_S
