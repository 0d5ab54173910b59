"""What a fetch reports, added up."""

from __future__ import annotations

from specdesk.hub.download.tally import FetchTally, FileProgress
from specdesk.hub.download.tally_words import going


class Clock:
    """Goes when it is told to."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_rate_and_time_left_come_from_what_arrives_now() -> None:
    clock = Clock()
    tally = FetchTally(clock)
    tally.start("a", 600)
    tally.keep(300)
    assert going(tally.now, 300, 1000) == "300 bytes of 1.0 kB"
    for _ in range(4):
        clock.now_s += 1
        tally.advance(50)
    now = tally.now
    assert now.files == {"a": FileProgress(500, 600)}
    assert now.bytes_per_s == 50
    assert going(now, 500, 1000) == "500 bytes of 1.0 kB · 50 bytes/s · 0:00:10 left"


def test_bursts_count_with_the_waits_between_them() -> None:
    """Bug: a package that came at once after 10 s made a rate of hundreds of megabytes per second."""
    clock = Clock()
    tally = FetchTally(clock)
    tally.start("a", 1000)
    for _ in range(9):
        clock.now_s += 10
        for _ in range(10):
            clock.now_s += 0.01
            tally.advance(10)
    rate = tally.now.bytes_per_s
    assert rate is not None
    assert 9 < rate < 14


def test_another_try_at_a_file_counts_from_what_is_kept() -> None:
    tally = FetchTally(Clock())
    tally.start("a", 600)
    tally.advance(400)
    tally.start("a", 600)
    assert tally.now.files == {"a": FileProgress(0, 600)}
    tally.keep(350)
    tally.advance(250)
    tally.finish()
    tally.start("b", 400)
    tally.advance(100)
    now = tally.now
    assert now.files == {"a": FileProgress(600, 600, checked=True), "b": FileProgress(100, 400)}
    assert now.file == "b"


def test_silence_is_said_and_a_stall_has_no_time_left() -> None:
    """A rate and a time left that stand still while nothing comes would be lies."""
    clock = Clock()
    tally = FetchTally(clock)
    tally.start("a", 1000)
    clock.now_s += 1
    tally.advance(200)
    clock.now_s += 4
    assert going(tally.now, 200, 1000) == "200 bytes of 1.0 kB · 40 bytes/s · 0:00:20 left · nothing for 4 s"
    clock.now_s += 6
    assert going(tally.now, 200, 1000) == "200 bytes of 1.0 kB · stalled: nothing for 10 s"
    tally.advance(100)
    assert "nothing" not in going(tally.now, 300, 1000)


def test_notices_are_kept_in_order() -> None:
    tally = FetchTally(Clock())
    tally.notice("first")
    tally.notice("second")
    assert tally.now.notices == ("first", "second")
