"""The engine's process: one thread owns all native code and does what it is asked, one request after another.

It lives as long as its client keeps the pipes open: nothing else ends it, and nothing of it survives.
"""

from __future__ import annotations

import os
import sys
import threading
import traceback
from typing import BinaryIO, assert_never

from specdesk.core.interrupted import Interrupted
from specdesk.engine import wire
from specdesk.engine.build import build_facts
from specdesk.engine.loaded import LoadedPair
from specdesk.engine.native_log import native_log
from specdesk.engine.stop import StopFlag
from specdesk.engine.tuning.tune import tune, undo
from specdesk.errors import SpecdeskError

_PATIENCE_S = 10.0
"""How long a native call that cannot be stopped may outlive the client."""


class Worker:
    """Serves one client."""

    def __init__(self, requests: BinaryIO, replies: BinaryIO) -> None:
        self._requests = requests
        self._replies = replies
        self._stops = Stops()
        self._pair: LoadedPair | None = None

    def listen(self, stops: BinaryIO) -> None:
        """Hear from another thread what is to be stopped, until the client is gone; then everything is."""
        threading.Thread(target=self._listen, args=(stops,), name="stops", daemon=True).start()

    def serve(self) -> None:
        """Answer requests until there are no more, then free the models and keep what was learned."""
        try:
            while (request := wire.receive_request(self._requests)) is not None:
                if isinstance(request, wire.StopNext):
                    self._stops.stop_next()
                    continue
                self._stops.begin()
                self._say(self._outcome(request))
        finally:
            if self._pair is not None:
                self._pair.close()

    def _outcome(self, request: wire.Work) -> wire.Reply:
        try:
            return self._done(request)
        except SpecdeskError as error:
            return wire.Failed.by(error)
        except Interrupted:
            return wire.Stopped()
        except BrokenPipeError:
            raise
        except Exception:  # the client shows it as what it is
            return wire.Crashed(traceback.format_exc())

    def _done(self, request: wire.Work) -> wire.Reply:
        match request:
            case wire.Load():
                self._pair = LoadedPair(request.settings, self._notify, self._stops.flag, self._progress)
                return wire.Loaded(self._pair.info)
            case wire.GetBuild():
                return wire.Build(build_facts())
            case wire.Tune():
                return wire.Tuned(tune(request.settings, self._notify, self._progress, self._stops.flag))
            case wire.Untune():
                return wire.Untuned(undo(request.settings, self._notify))
        if self._pair is None:
            raise ValueError("no pair is loaded")
        return self._asked(self._pair, request)

    def _asked(self, pair: LoadedPair, request: wire.PairRequest) -> wire.Reply:
        match request:
            case wire.Chat():
                for event in pair.chat(request.messages, request.options):
                    self._say(event)
                return wire.Answered(pair.draft_record)
            case wire.Complete():
                for event in pair.complete(request.text, request.options):
                    self._say(event)
                return wire.Answered(pair.draft_record)
            case wire.GetPromptIds():
                return wire.Ids(pair.prompt_ids(request.messages))
            case wire.GetCloseness():
                asked = (request.messages, request.answer, request.at, request.tokens, request.width)
                return wire.ClosenessFound(pair.closeness(*asked))
            case wire.GetAgreement():
                return wire.Agreement(pair.agreement(request.messages, request.answer, request.sampling))
            case wire.Forget():
                pair.forget()
                return wire.Forgotten()
            case wire.GetMachine():
                return wire.Machine(pair.machine())
        assert_never(request)

    def _say(self, reply: wire.Reply) -> None:
        wire.send(self._replies, reply)

    def _notify(self, text: str) -> None:
        self._say(wire.Notice(text))

    def _progress(self, text: str) -> None:
        self._say(wire.Progress(text))

    def _listen(self, stops: BinaryIO) -> None:
        while line := stops.readline():
            self._stops.stop(int(line))
        self._stops.stop(None)
        threading.Timer(_PATIENCE_S, os._exit, [1]).start()


class Stops:
    """The flag that native code looks at, raised for the requests that are to stop and for no other."""

    def __init__(self) -> None:
        self.flag = StopFlag()
        self._lock = threading.Lock()
        self._n_begun = 0
        self._last_stopped: float = 0

    def begin(self) -> None:
        """The next request begins. It may have been stopped already: the two come by different pipes."""
        with self._lock:
            self._n_begun += 1
            if self._n_begun > self._last_stopped:
                self.flag.clear()

    def stop_next(self) -> None:
        """Stop the request that has not begun yet."""
        self.stop(self._n_begun + 1)

    def stop(self, number: int | None) -> None:
        """Stop request `number`, counted from 1, and those before it; None: all there will ever be."""
        with self._lock:
            self._last_stopped = float("inf") if number is None else max(self._last_stopped, number)
            if self._n_begun <= self._last_stopped:
                self.flag.set()


def main(stop_fd: int, replies: BinaryIO, *, verbose: bool) -> None:
    """Serve the client at the other end of standard input, `replies` and `stop_fd`."""
    if verbose:
        native_log.show()
    else:
        native_log.keep()
    worker = Worker(sys.stdin.buffer, replies)
    worker.listen(os.fdopen(stop_fd, "rb"))
    try:
        worker.serve()
    except BrokenPipeError:
        os._exit(1)  # nobody is left who could be told
