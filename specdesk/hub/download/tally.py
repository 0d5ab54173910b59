"""Counts what arrives of a fetch, for whoever shows it to look at as often as they like."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from specdesk.hub.download.rate import Rate
from specdesk.hub.download.report import FetchPlan


@dataclass(frozen=True, slots=True)
class FileProgress:
    """How far a file is."""

    arrived_bytes: int
    size_bytes: int
    """All of it."""
    checked: bool = False
    """Whether it is complete."""


@dataclass(frozen=True, slots=True)
class FetchProgress:
    """How far a fetch is."""

    files: dict[str, FileProgress]
    """By name, those that were begun."""
    file: str
    """Which of them is under way, or was the last; empty before the first."""
    size_bytes: int
    """Of all that is to come; 0 before that is known."""
    bytes_per_s: float | None
    silent_s: float
    """How long nothing has come."""
    notices: tuple[str, ...]

    @property
    def arrived_bytes(self) -> int:
        """Of all files together."""
        return sum(file.arrived_bytes for file in self.files.values())


class FetchTally:
    """A Reporter that adds up; it may be asked from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._files: dict[str, FileProgress] = {}
        self._file = ""
        self._size_bytes = 0
        self._notices: list[str] = []
        self._heard_s = clock()
        self._rate = Rate(self._heard_s)

    def begin(self, plan: FetchPlan) -> None:
        """How much is to come."""
        with self._lock:
            self._size_bytes = plan.size_bytes

    def start(self, file: str, total_bytes: int) -> None:
        """Count from nothing."""
        with self._lock:
            self._file, self._files[file] = file, FileProgress(0, total_bytes)
            self._heard_s = self._clock()

    def keep(self, n_bytes: int) -> None:
        """These are there, and say nothing of the rate."""
        with self._lock:
            self._files[self._file] = replace(self._files[self._file], arrived_bytes=n_bytes)
            self._heard_s = self._clock()

    def advance(self, n_bytes: int) -> None:
        """More has come."""
        with self._lock:
            file = self._files[self._file]
            self._files[self._file] = replace(file, arrived_bytes=file.arrived_bytes + n_bytes)
            self._heard_s = self._clock()
            self._rate.add(n_bytes, self._heard_s)

    def finish(self, *, hashed: bool = True) -> None:  # noqa: ARG002 — for those that say it
        """A file is complete."""
        with self._lock:
            self._files[self._file] = replace(self._files[self._file], checked=True)

    def notice(self, text: str) -> None:
        """Keep it."""
        with self._lock:
            self._notices.append(text)

    @property
    def now(self) -> FetchProgress:
        """How far it is."""
        with self._lock:
            now_s = self._clock()
            return FetchProgress(
                dict(self._files),
                self._file,
                self._size_bytes,
                self._rate.at(now_s),
                now_s - self._heard_s,
                tuple(self._notices),
            )
