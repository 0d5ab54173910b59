from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from specdesk.cli.download_output import Output
from specdesk.cli.progress import LineReporter, SilentReporter, shell_reporter
from specdesk.cli.progress_bars import BarReporter
from specdesk.cli.progress_json import JsonReporter
from specdesk.cli.progress_plan import plan_lines
from specdesk.core.interrupted import Interrupted
from specdesk.hub.download.report import FetchPlan

PLAN = FetchPlan(
    "toy-pair",
    ("a.gguf", "b.gguf"),
    1_608_720_832,
    0,
    2_300_000_000,
    ("MIT", "Other"),
    Path("somewhere"),
    5_000_000_000,
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_before_the_first_byte_lines_say_what_how_much_whose_and_where() -> None:
    stream = io.StringIO()
    with shell_reporter(stream) as report:
        report.begin(PLAN)
    assert stream.getvalue().splitlines() == [
        "fetching toy-pair: 1.6 GB (a.gguf, b.gguf)",
        "licence: MIT, Other",
        "memory: about 2.3 GB to run it",
        "destination: somewhere, 5.0 GB free",
    ]


def test_what_is_not_known_before_is_left_out_or_said() -> None:
    unknown = replace(PLAN, memory_bytes=None, licences=())
    assert plan_lines(unknown)[1:] == ["licence: not stated", "destination: somewhere, 5.0 GB free"]


def test_what_came_before_is_said() -> None:
    again = replace(PLAN, here_bytes=500_000_000)
    assert plan_lines(again)[0] == "fetching toy-pair: 1.6 GB, 500.0 MB of it from before (a.gguf, b.gguf)"


def test_what_others_wrote_drives_no_terminal_and_makes_no_lines_of_its_own() -> None:
    """Whoever owns a repository states its licence."""
    stream = io.StringIO()
    LineReporter(stream).begin(replace(PLAN, licences=("\x1b[2J\x9bnone\nlicence: MIT",)))
    assert (
        stream.getvalue().splitlines()[1]
        == "licence: \N{SYMBOL FOR ESCAPE}[2J\N{REPLACEMENT CHARACTER}none licence: MIT"
    )


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
    assert "100%" in shown
    assert "100 bytes/100 bytes" in shown
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l"), "the cursor is back"


@pytest.mark.parametrize("width", [80, 120])
def test_bars_leave_room_for_a_bar_and_tell_per_cent(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    """Of a long name both ends are shown; what has come is told in a unit of its own."""
    monkeypatch.setenv("TERM", "xterm")
    clock, stream = Clock(), Terminal()
    name = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
    with BarReporter(Console(file=stream, width=width, color_system=None), clock) as report:
        report.begin(replace(PLAN, files=(name,), size_bytes=1_600_000_000))
        report.start(name, 1_600_000_000)
        clock.now_s += 1
        report.advance(30_000_000)
        report._progress.refresh()
    line = stream.getvalue().splitlines()[-2].removeprefix("\x1b[2K")
    match = re.fullmatch(r"qwen\S*…\S*_m\.gguf (.*)   2% 30\.0 MB/1\.6 GB 30\.0 MB/s · 0:00:53 left", line)
    assert match is not None, line
    assert len(match[1]) >= 12


def test_only_the_length_was_checked_is_said() -> None:
    stream = io.StringIO()
    with LineReporter(stream) as report:
        report.start("toy.gguf", 10)
        report.advance(10)
        report.finish(hashed=False)
    assert stream.getvalue().splitlines()[-1] == "toy.gguf  complete, its length checked"


def test_going_on_from_the_same_byte_is_said_once() -> None:
    stream = io.StringIO()
    with LineReporter(stream) as report:
        for kept in (500, 500, 400):
            report.start("toy.gguf", 1000)
            report.keep(kept)
    assert [line for line in stream.getvalue().splitlines() if "going on" in line] == [
        "toy.gguf  going on from 500 bytes",
        "toy.gguf  going on from 400 bytes",
    ]


def test_what_is_said_at_the_end_stands_below_the_bars(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bug: the bars were drawn for the last time over the files' places and the line to type."""
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with shell_reporter(stream) as report:
        report.begin(PLAN)
        report.start("a.gguf", 100)
        report.advance(100)
        report.finish()
        Output(report, quiet=False).end({"model": Path("a.gguf")}, "specdesk run")
        drawn = stream.getvalue()
    assert capsys.readouterr().out == "model  a.gguf\n"
    assert stream.getvalue() == drawn


@pytest.mark.parametrize("error", [KeyboardInterrupt, Interrupted])
def test_stopped_it_says_what_had_come(error: type[BaseException]) -> None:
    def fetch() -> None:
        with shell_reporter(io.StringIO()) as report:
            report.begin(PLAN)
            report.start("a.gguf", 1_000_000_000)
            report.keep(400_000_000)
            report.advance(100_000_000)
            raise error

    with pytest.raises(Interrupted, match=r"^stopped; 500.0 MB of 1.6 GB had come, and the same command goes on"):
        fetch()


def test_nothing_to_fetch_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with shell_reporter(stream):
        pass
    assert stream.getvalue() == ""


def test_a_dumb_terminal_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(shell_reporter(Terminal()), LineReporter)


class Clock:
    """Goes when it is told to."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


TWO = replace(PLAN, size_bytes=2000)


def test_lines_tell_rate_and_time_left_of_the_file_and_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, stream = Clock(), io.StringIO()
    with LineReporter(stream, clock) as report:
        report.begin(TWO)
        report.start("a.gguf", 1000)
        clock.now_s += 2
        report.advance(500)
    assert stream.getvalue().splitlines()[-1] == (
        "a.gguf  50%  500 bytes of 1.0 kB · 250 bytes/s · 0:00:02 left"
        "  (all: 500 bytes of 2.0 kB · 250 bytes/s · 0:00:06 left)"
    )


def test_bars_tell_rate_and_time_left_and_a_stall_while_it_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    clock, stream = Clock(), Terminal()
    with BarReporter(Console(file=stream, width=140), clock) as report:
        report.begin(TWO)
        report.start("a.gguf", 1000)
        clock.now_s += 2
        report.advance(500)
        report._progress.refresh()
        shown = stream.getvalue()
        assert "250 bytes/s · 0:00:02 left" in shown, "of the file"
        assert "250 bytes/s · 0:00:06 left" in shown, "of all"
        clock.now_s += 12
        stream.truncate(0)
        report._progress.refresh()
        stalled = stream.getvalue()
    assert stalled.count("stalled: nothing for 12 s") == 2
    assert "left" not in stalled


def test_json_is_an_object_per_line_and_progress_once_a_second() -> None:
    clock, stream = Clock(), io.StringIO()
    with JsonReporter(stream, clock) as report:
        report.begin(TWO)
        report.start("a.gguf", 1000)
        report.keep(100)
        for _ in range(9):
            clock.now_s += 0.5
            report.advance(100)
        report.notice("first is down; trying second")
        report.finish()
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line["event"] for line in lines] == [
        "plan",
        "start",
        *["progress"] * 5,
        "notice",
        "progress",
        "checked",
    ]
    assert lines[0] == {
        "event": "plan",
        "name": "toy-pair",
        "files": ["a.gguf", "b.gguf"],
        "size_bytes": 2000,
        "here_bytes": 0,
        "free_bytes": 5_000_000_000,
        "memory_bytes": 2_300_000_000,
        "licences": ["MIT", "Other"],
        "destination": "somewhere",
    }
    assert lines[4] == {
        "event": "progress",
        "file": "a.gguf",
        "arrived_bytes": 500,
        "total_bytes": 1000,
        "all_arrived_bytes": 500,
        "all_total_bytes": 2000,
        "bytes_per_s": 200.0,
        "left_s": 2.5,
        "all_left_s": 7.5,
    }


def test_silence_is_kept() -> None:
    with SilentReporter() as report:
        report.begin(TWO)
        report.start("a.gguf", 1000)
        report.advance(1000)
        report.finish()
