"""A fetch beside the screen."""

from __future__ import annotations

import threading
from collections.abc import Callable

import textual.message

from specdesk.core.interrupted import Interrupted
from specdesk.errors import SpecdeskError
from specdesk.hub.download.report import Reporter
from specdesk.hub.download.tally import FetchTally
from specdesk.hub.stopping import Stop
from specdesk.tui.messages import FetchCrashed, FetchEnded


class FetchThread:
    """Runs one fetch. Its methods are for the screen's thread; FetchEnded or FetchCrashed is posted at its end."""

    def __init__(
        self,
        fetch: Callable[[Reporter, Stop], object],
        tally: FetchTally,
        post: Callable[[textual.message.Message], bool],
    ) -> None:
        self._fetch = fetch
        self._tally = tally
        self._post = post
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._main, name="fetch")

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End it early; FetchEnded still comes."""
        self._stop.set()

    def close(self) -> None:
        """End it early and wait until it has."""
        self.stop()
        self._thread.join()

    def _main(self) -> None:
        error: SpecdeskError | None = None
        stopped = False
        try:
            self._fetch(self._tally, self._stop)
        except SpecdeskError as refused:
            error = refused
        except Interrupted:
            stopped = True
        except Exception as bug:  # the screen raises it again, where a traceback can be seen
            self._post(FetchCrashed(bug))
            return
        self._post(FetchEnded(error, stopped))
