"""Tells a fetch to a program: a JSON object per line. docs/records.md lists every key."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TextIO

from specdesk.cli.progress import SilentReporter
from specdesk.hub.download.tally_words import time_left_s

if TYPE_CHECKING:
    from specdesk.hub.download.report import FetchPlan

_EACH_S: Final = 1.0
"""Lines of progress come no more often than this."""


class JsonReporter(SilentReporter):
    """Writes every event of a fetch to the stream, at once."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._stream = stream
        self._told_s = clock()

    def begin(self, plan: FetchPlan) -> None:
        """What is about to be fetched."""
        super().begin(plan)
        self.tell(
            "plan",
            name=plan.name,
            files=plan.files,
            size_bytes=plan.size_bytes,
            here_bytes=plan.here_bytes,
            free_bytes=plan.free_bytes,
            memory_bytes=plan.memory_bytes,
            licences=plan.licences,
            destination=str(plan.destination),
        )

    def start(self, file: str, total_bytes: int) -> None:
        """A try at a file begins."""
        super().start(file, total_bytes)
        self.tell("start", file=file, total_bytes=total_bytes)

    def keep(self, n_bytes: int) -> None:
        """So much is here."""
        super().keep(n_bytes)
        self._progress()

    def advance(self, n_bytes: int) -> None:
        """More has come; told once a second."""
        super().advance(n_bytes)
        if self._clock() - self._told_s >= _EACH_S:
            self._progress()

    def finish(self, *, hashed: bool = True) -> None:
        """The file is complete."""
        super().finish(hashed=hashed)
        self._progress()
        self.tell("checked", file=self.now.file)

    def notice(self, text: str) -> None:
        """What the user should see."""
        self.tell("notice", text=text)

    def tell(self, event: str, **values: Any) -> None:
        """One line."""
        print(json.dumps({"event": event, **values}), file=self._stream, flush=True)

    def _progress(self) -> None:
        self._told_s = self._clock()
        now = self.now
        file = now.files[now.file]
        self.tell(
            "progress",
            file=now.file,
            arrived_bytes=file.arrived_bytes,
            total_bytes=file.size_bytes,
            all_arrived_bytes=now.arrived_bytes,
            all_total_bytes=now.size_bytes,
            bytes_per_s=now.bytes_per_s,
            left_s=time_left_s(now, file.size_bytes - file.arrived_bytes),
            all_left_s=time_left_s(now, now.size_bytes - now.arrived_bytes),
        )
