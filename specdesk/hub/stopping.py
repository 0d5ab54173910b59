"""How a fetch is stopped from another thread, whatever it waits for."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future, wait
from typing import Final, Protocol, TypeVar

from specdesk.core.interrupted import Interrupted

POLL_S: Final = 0.1
"""How long anything here waits before it looks whether it should stop."""

_AHEAD: Final = 4
"""Chunks that are read before they are asked for."""

T = TypeVar("T")


class Stop(Protocol):
    """Says whether to stop; a `threading.Event` is one."""

    def is_set(self) -> bool:
        """Whether to stop."""


class Never:
    """Does not stop anything."""

    def is_set(self) -> bool:
        """No."""
        return False


def check(stop: Stop) -> None:
    """Raises Interrupted if that was asked for."""
    if stop.is_set():
        raise Interrupted


def pause(seconds: float, stop: Stop) -> None:
    """Wait so long. Raises Interrupted if stopped."""
    deadline_s = time.monotonic() + seconds
    check(stop)
    while (left_s := deadline_s - time.monotonic()) > 0:
        time.sleep(min(POLL_S, left_s))
        check(stop)


def within(seconds: float, ask: Callable[[], T], stop: Stop) -> T:
    """`ask()`, or TimeoutError: a client's timeout bounds neither name lookup nor the sum over addresses.

    Raises Interrupted if stopped; then nobody waits for the answer any more.
    """
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(ask())
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=run, name="hub-metadata", daemon=True).start()
    deadline_s = time.monotonic() + seconds
    while not answer.done():
        check(stop)
        left_s = deadline_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        wait([answer], min(POLL_S, left_s))
    return answer.result()


def arriving(chunks: Generator[bytes], stop: Stop) -> Generator[bytes]:
    """The chunks, read in a thread of their own: a wait for the next one can be stopped, and raises Interrupted.

    When nobody wants more, that thread ends as soon as its read does.
    """
    arrived: queue.Queue[bytes | BaseException | None] = queue.Queue(_AHEAD)
    left = threading.Event()

    def put(item: bytes | BaseException | None) -> None:
        while not left.is_set():
            with contextlib.suppress(queue.Full):
                arrived.put(item, timeout=POLL_S)
                return

    def read() -> None:
        try:
            with contextlib.closing(chunks):
                for chunk in chunks:
                    put(chunk)
                    if left.is_set():
                        return
            put(None)
        except BaseException as error:
            put(error)

    threading.Thread(target=read, name="hub-body", daemon=True).start()
    try:
        while (item := _next(arrived, stop)) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        left.set()


def _next(arrived: queue.Queue[T], stop: Stop) -> T:
    while True:
        check(stop)
        with contextlib.suppress(queue.Empty):
            return arrived.get(timeout=POLL_S)
