"""The pictures of the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from specdesk.bench.report import Summary
from specdesk.bench.rows import Row
from specdesk.bench.svg import Axes, box, dot, line, path, picture, text, ticks
from specdesk.core.costs import PassCosts

_WIDTH: Final = 640.0
_HEIGHT: Final = 280.0
_BAR: Final = 26.0
"""Pixels per bar of a chart with names at its left."""
_NAMES: Final = 150.0
"""Pixels for these names."""
_FEW: Final = 24
"""Steps up to which each one is numbered."""


def speedups(found: Sequence[Summary]) -> str:
    """Median speedup of each task, with a line from the least to the most."""
    title = "Speedup by task: bar is the median, line from least to most"
    scale = ticks(max(1.0, *(each.speedup.most for each in found)))
    height = 80 + _BAR * len(found)
    axes = Axes(_WIDTH, height, scale[-1], float(len(found)), left=_NAMES)
    parts = axes.frame(title, "times as fast as plain decoding", "", scale, ())
    for i, each in enumerate(found):
        top, middle = axes.y(len(found) - i) + 4, axes.y(len(found) - i - 0.5)
        speedup = each.speedup
        tip = f"{each.task}: {speedup.median:.2f}x, {speedup.least:.2f} to {speedup.most:.2f}, {each.n} answers"
        parts += [
            box(axes.left, top, axes.x(speedup.median) - axes.left, middle - top + 9, "bar", tip),
            line(axes.x(speedup.least), middle, axes.x(speedup.most), middle, "spread"),
            text(axes.left - 6, middle + 4, f"{_short(each.task)}  {speedup.median:.2f}x", "tick end"),
        ]
    parts.append(line(axes.x(1.0), axes.y(float(len(found))), axes.x(1.0), axes.y(0.0), "even"))
    return picture(_WIDTH, height, title, parts)


def staircase(costs: PassCosts) -> str:
    """What a target pass of n tokens costs, in passes of one."""
    title = "What a target pass costs: T(n) / T(1)"
    rises = [seconds / costs.base_s[0] for seconds in costs.base_s]
    scale = ticks(max(rises))
    across = [1.0, *(tick for tick in ticks(costs.sizes[-1], 8) if 1.0 < tick <= costs.sizes[-1])]
    axes = Axes(_WIDTH, _HEIGHT, float(costs.sizes[-1]), scale[-1], x_min=1.0)
    parts = axes.frame(title, "tokens in the pass, n", "T(n) / T(1)", across, scale)
    points = [(axes.x(size), axes.y(rise)) for size, rise in zip(costs.sizes, rises, strict=True)]
    parts.append(path(points, "curve"))
    for (x, y), size, rise, seconds in zip(points, costs.sizes, rises, costs.base_s, strict=True):
        parts.append(dot(x, y, "point", f"{size} tokens: {rise:.2f} times one, {1000 * seconds:.1f} ms"))
    return picture(_WIDTH, _HEIGHT, title, parts)


def acceptance(rows: Sequence[Row]) -> str:
    """How many of the 1st, 2nd, ... tokens of all drafts were accepted, of those that were tested."""
    title = "Acceptance by position in the draft"
    counts = pooled(rows)
    axes = Axes(_WIDTH, _HEIGHT, len(counts) + 0.5, 108.0, x_min=0.5)
    every = 1 if len(counts) <= _FEW else 5
    across = [float(i) for i in range(1, len(counts) + 1) if i == 1 or i % every == 0]
    parts = axes.frame(title, "token of the draft", "accepted of tested, %", across, (0, 25, 50, 75, 100))
    for i, (tested, accepted) in enumerate(counts, 1):
        rate = 100.0 * accepted / tested
        width = (axes.x(i + 1) - axes.x(i)) * 0.7
        tip = f"token {i}: {accepted} of {tested} accepted"
        parts.append(box(axes.x(i) - width / 2, axes.y(rate), width, axes.y(0.0) - axes.y(rate), "bar", tip))
        if len(counts) <= _FEW / 2:
            parts.append(text(axes.x(i), axes.y(rate) - 4, f"{accepted}/{tested}", "tick middle"))
    return picture(_WIDTH, _HEIGHT, title, parts)


def drafts(row: Row) -> str:
    """How many tokens each step of an answer drafted, and how many of them were accepted."""
    title = f"K over the steps of an answer: {row.task}, {row.prompt}"
    scale = ticks(max(1, *(step.n_drafted for step in row.steps)), 4)
    scale = [tick for tick in scale if tick == int(tick)]
    n = len(row.steps)
    axes = Axes(_WIDTH, 200.0, n + 0.5, max(scale), x_min=0.5)
    across = [float(i) for i in range(1, n + 1)] if n <= _FEW else [t for t in ticks(n, 8) if 1 <= t <= n]
    parts = axes.frame(title, "step (target pass)", "draft tokens, K", across, scale)
    width = (axes.x(2.0) - axes.x(1.0)) * 0.8
    for i, step in enumerate(row.steps, 1):
        tip = f"step {i}: {step.n_drafted} drafted by {step.drafter or 'none'}, {step.n_accepted} accepted"
        left, ground = axes.x(i) - width / 2, axes.y(0.0)
        for height, kind in ((step.n_drafted, "drafted"), (step.n_accepted, "bar")):
            if height:
                parts.append(box(left, axes.y(height), width, ground - axes.y(height), kind, tip))
    return picture(_WIDTH, 200.0, title, parts)


def pooled(rows: Sequence[Row]) -> list[tuple[int, int]]:
    """Tested and accepted at each position of a draft, over all rows."""
    length = max((len(row.by_position) for row in rows), default=0)
    at = [[row.by_position[i] for row in rows if i < len(row.by_position)] for i in range(length)]
    return [(sum(tested for tested, _ in each), sum(accepted for _, accepted in each)) for each in at]


def _short(name: str) -> str:
    return name if len(name) <= 15 else f"{name[:14]}…"
