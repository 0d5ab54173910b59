from __future__ import annotations

import io
from pathlib import Path

import pytest

from specdesk.cli.progress import BarReporter, LineReporter, shell_reporter
from specdesk.hub.report import FetchPlan

PLAN = FetchPlan(
    "toy-pair", ("target.gguf", "draft.gguf"), 1_608_720_832, 2_300_000_000, ("MIT", "Other"), Path("somewhere")
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_before_the_first_byte_lines_say_what_how_much_whose_and_where() -> None:
    stream = io.StringIO()
    with shell_reporter(stream) as report:
        report.begin(PLAN)
    assert stream.getvalue().splitlines() == [
        "fetching toy-pair: 1.6 GB (target.gguf, draft.gguf)",
        "licence: MIT, Other",
        "memory: about 2.3 GB to run it",
        "destination: somewhere",
    ]


def test_without_a_terminal_there_is_a_line_every_tenth() -> None:
    stream = io.StringIO()
    with shell_reporter(stream) as report:
        report.start("toy.gguf", 1000)
        for _ in range(100):
            report.advance(10)
        report.finish()
    lines = stream.getvalue().splitlines()
    assert lines[0] == "toy.gguf  10%  100 bytes of 1.0 kB"
    assert [line.split()[1] for line in lines] == [f"{n}0%" for n in range(1, 11)] + ["checked"]


def test_a_second_try_counts_from_nothing() -> None:
    stream = io.StringIO()
    with shell_reporter(stream) as report:
        report.start("toy.gguf", 100)
        report.advance(55)
        report.notice("first is down; trying second")
        report.start("toy.gguf", 100)
        report.advance(10)
    assert [line.split()[1] for line in stream.getvalue().splitlines()] == ["50%", "is", "10%"]


def test_a_terminal_gets_a_bar_and_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    stream = Terminal()
    reporter = shell_reporter(stream)
    assert isinstance(reporter, BarReporter)
    with reporter as report:
        report.begin(PLAN)
        report.start("toy.gguf", 100)
        report.advance(50)
        report.notice("[first] is down; trying second")
        report.start("toy.gguf", 100)
        report.advance(100)
        report.finish()
    shown = stream.getvalue()
    assert "fetching toy-pair: 1.6 GB" in shown
    assert "[first] is down; trying second" in shown
    assert "100/100 bytes" in shown
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l"), "the cursor is back"


def test_nothing_to_fetch_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with shell_reporter(stream):
        pass
    assert stream.getvalue() == ""


def test_a_dumb_terminal_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(shell_reporter(Terminal()), LineReporter)
