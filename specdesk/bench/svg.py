"""Charts as SVG text, from a few small parts. Colours are left to the page, by class, to suit light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import floor, log10
from typing import Final

from specdesk.tokenview import visible

_LEFT: Final = 56.0
_RIGHT: Final = 14.0
_TOP: Final = 30.0
_BOTTOM: Final = 44.0


@dataclass(frozen=True, slots=True)
class Axes:
    """A rectangle of the picture, and what it stands for. Pixels, y downwards."""

    width: float
    height: float
    x_max: float
    """Both axes begin at x_min and 0."""
    y_max: float
    x_min: float = 0.0
    left: float = _LEFT

    def x(self, value: float) -> float:
        """Where a value of the x axis is."""
        return self.left + (value - self.x_min) / (self.x_max - self.x_min) * (self.width - self.left - _RIGHT)

    def y(self, value: float) -> float:
        """Where a value of the y axis is."""
        return self.height - _BOTTOM - value / self.y_max * (self.height - _TOP - _BOTTOM)

    def frame(
        self, title: str, x_label: str, y_label: str, x_ticks: Sequence[float], y_ticks: Sequence[float]
    ) -> list[str]:
        """Title, axes with their labels, ticks and grid; an axis without ticks has names instead, set by the caller."""
        right, floor_ = self.width - _RIGHT, self.height - _BOTTOM
        middle = (_TOP + floor_) / 2
        return [
            text(self.left, 18, title, "title"),
            *(line(self.left, self.y(tick), right, self.y(tick), "grid") for tick in y_ticks),
            *(text(self.left - 6, self.y(tick) + 4, number(tick), "tick end") for tick in y_ticks),
            *(line(self.x(tick), floor_, self.x(tick), floor_ + 4, "axis") for tick in x_ticks),
            *(text(self.x(tick), floor_ + 17, number(tick), "tick middle") for tick in x_ticks),
            line(self.left, floor_, right, floor_, "axis"),
            line(self.left, _TOP, self.left, floor_, "axis"),
            text((self.left + right) / 2, self.height - 8, x_label, "label middle"),
            text(14, middle, y_label, "label middle", f' transform="rotate(-90 14 {middle:.1f})"'),
        ]


def picture(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    """The parts as one picture, named for those who cannot see it."""
    inner = "\n".join(parts)
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape(visible(title))}">'
        f"<title>{escape(visible(title))}</title>\n{inner}\n</svg>"
    )


def text(x: float, y: float, what: str, kind: str, more: str = "") -> str:
    """Words at a place; `kind` are classes: what they are, and where they are anchored."""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}"{more}>{escape(visible(what))}</text>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A straight line."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def box(x: float, y: float, width: float, height: float, kind: str, tip: str = "") -> str:
    """A filled rectangle, with a tip that shows under the pointer."""
    inner = f"<title>{escape(visible(tip))}</title>" if tip else ""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" class="{kind}">{inner}</rect>'


def dot(x: float, y: float, kind: str, tip: str) -> str:
    """A marker with a tip."""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" class="{kind}"><title>{escape(visible(tip))}</title></circle>'


def path(points: Sequence[tuple[float, float]], kind: str) -> str:
    """Straight lines from point to point."""
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{joined}" class="{kind}"/>'


def ticks(most: float, n: int = 5) -> list[float]:
    """From 0 in steps of 1, 2 or 5 times a power of ten to at least `most`, some n of them."""
    rough = max(most, 1e-9) / n
    power = 10.0 ** floor(log10(rough))
    step = next(step * power for step in (1, 2, 5, 10) if step * power >= rough * (1 - 1e-9))
    found = [0.0]
    while found[-1] < most * (1 - 1e-9):
        found.append(len(found) * step)
    return found


def number(value: float) -> str:
    """As short as it can be read."""
    return f"{value:.6g}"
