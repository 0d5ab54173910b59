"""What speculation brings, while it happens: a panel where there is room, a strip where there is not."""

from __future__ import annotations

import os

from rich.style import Style
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Digits, Static

from specdesk.tokenview import Span, legend
from specdesk.tui.figures import UNKNOWN, Figures
from specdesk.tui.terminal.appearance import has_styles
from specdesk.tui.token_details import details, summary

_FILLINGS = {"draft": "▓", "target": "█", "other": "░"}
_BAR_WIDTH = 30


class SpeedPanel(VerticalScroll, can_focus=False):
    """The big running speedup, the figures it rests on, and the legend: a short one that stays where rows are few."""

    def compose(self) -> ComposeResult:
        """An empty panel; `show` fills it."""
        yield Digits(UNKNOWN, id="speedup")
        yield Static(id="verdict", markup=False)
        yield Static(id="figures", markup=False, classes="measured")
        yield Static("K of the last passes", markup=False, classes="title measured course")
        yield Static(id="recent_k", markup=False, classes="measured course")
        yield Static("tokens/s of the last passes", markup=False, classes="title measured course")
        yield Static(id="recent_rate", markup=False, classes="measured course")
        yield Static("where the time goes", markup=False, classes="title measured share")
        yield Static(id="shares", markup=False, classes="measured share")
        yield Static("token", markup=False, classes="title token")
        yield Static(id="token", classes="token", markup=False)
        with Vertical(id="legend"):
            yield Static("who wrote it", markup=False, classes="title")
            yield Static(legend_text(short=False, colour=not self.app.no_color), markup=False)
        yield Static(legend_text(short=True, colour=not self.app.no_color), markup=False, id="short_legend")

    def show(self, figures: Figures) -> None:
        """Show the figures of an answer. All have their places: laying out the screen anew takes 30 times as long."""
        self.set_class(not figures.tally.generated_tokens, "-empty")
        self.query_one("#speedup", Digits).update(figures.speedup)
        self.query_one("#verdict", Static).update(figures.verdict, layout=False)
        self.query_one("#figures", Static).update(_figures(figures), layout=False)
        self.query_one("#recent_k", Static).update(figures.recent_lookahead, layout=False)
        self.query_one("#recent_rate", Static).update(figures.recent_rate, layout=False)
        self.query_one("#shares", Static).update(_shares(figures), layout=False)

    def tell(self, span: Span | None) -> None:
        """Tell of a token, or of none."""
        self.set_class(span is not None, "-telling")
        token = self.query_one("#token", Static)
        token.update("" if span is None else "\n".join(details(span)))
        if span is None:
            self.scroll_home(animate=False)
        else:
            self.call_after_refresh(token.scroll_visible, animate=False)


class SpeedStrip(Vertical):
    """The same on one line, and below it a legend of single words; a token that is told of takes the place of both."""

    def __init__(self) -> None:
        super().__init__()
        self._figures = Figures()

    def on_resize(self, event: events.Resize) -> None:
        """Where the legend does not fit into one line, give it two; show the figures there is room for."""
        self.set_class(event.size.width < legend_text(short=True, colour=False).cell_len, "-slim")
        self.show(self._figures)

    def compose(self) -> ComposeResult:
        """An empty strip; `show` fills it."""
        yield Static(id="strip", markup=False)
        yield Static(legend_text(short=True, colour=not self.app.no_color), id="below", markup=False)

    def tell(self, span: Span | None) -> None:
        """Tell of a token, or of none."""
        self.set_class(span is not None, "-telling")
        legend = legend_text(short=True, colour=not self.app.no_color)
        self.query_one("#below", Static).update(legend if span is None else Text(summary(span)))

    def show(self, figures: Figures) -> None:
        """Show the figures of an answer."""
        self._figures = figures
        line = _line(figures, self.scrollable_content_region.width)
        self.query_one("#strip", Static).update(line, layout=False)


def legend_text(*, short: bool, colour: bool) -> Text:
    """What the styles mean, in those styles: one kind a line, or single words on one line."""
    with_marks = not has_styles(os.environ)
    entries = [(words, Style.parse(style)) for words, style in legend(short=short, with_marks=with_marks)]
    return Text("  " if short else "\n", end="").join(
        Text(words, style if colour else style.without_color) for words, style in entries
    )


def _line(figures: Figures, room: int) -> Text:
    """What there is room for, the most telling first; before there is anything, that."""
    if not figures.tally.generated_tokens:
        return Text(figures.verdict)
    line = Text(figures.speedup, "bold", end="")
    parts = (figures.rate, f"accepted {figures.acceptance_rate}", f"{figures.per_pass}/pass", figures.plain_rate)
    for part in filter(None, parts):
        if len(line) + 2 + len(part) <= room:
            line.append(f"  {part}", "not bold")
    return line


def _figures(figures: Figures) -> Text:
    plain = f"  ({figures.plain_rate})" if figures.plain_rate else ""
    reason = "" if figures.reason == figures.verdict else figures.reason  # which stands above already
    return Text.assemble(
        (figures.rate, "bold"),
        f"{plain}\n",
        (figures.per_pass, "bold"),
        " tokens per pass\naccepted ",
        (figures.acceptance, "bold"),
        "\nK ",
        (figures.lookahead, "bold"),
        f"  {figures.drafter}\n{reason}",
    )


def _shares(figures: Figures) -> str:
    """Words and a bar; the bar's fillings are told apart without colour."""
    if figures.shares is None:
        return UNKNOWN
    parts = dict(zip(_FILLINGS, figures.shares, strict=True))
    bar, done = "", 0.0
    for name, part in parts.items():
        done += part
        bar += _FILLINGS[name] * (round(done * _BAR_WIDTH) - len(bar))
    return f"{bar}\n" + "  ".join(f"{name} {part:.0%}" for name, part in parts.items())
