"""What the engine's process runs first: loads llama.cpp's bindings, or answers whatever it is asked with why it cannot.

That the process ends while they are loaded is for its client to tell.
"""

from __future__ import annotations

import os
import re
import sys
from typing import BinaryIO, Final

# Before llama_cpp: it sets what ggml reads when it is loaded.
import specdesk.engine.environment  # noqa: F401 # isort: skip

from specdesk.engine import wire
from specdesk.engine.requirement import LEAST_VERSION, install_command
from specdesk.errors import EngineMissingError


def main(stop_fd: int, *, verbose: bool) -> None:
    """Serve the client at the other end of the standard streams and of `stop_fd`."""
    # What native code or a stray print writes to standard output must not get between the replies.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        _load()
    except EngineMissingError as error:
        _refuse(sys.stdin.buffer, replies, error)
        return
    from specdesk.engine.worker import main as serve

    serve(stop_fd, replies, verbose=verbose)


def _load() -> None:
    """Raises EngineMissingError where they are absent, broken or too old."""
    try:
        import llama_cpp
    except (ImportError, OSError, RuntimeError) as error:  # the last two where its shared libraries do not load
        raise EngineMissingError(
            f"llama-cpp-python cannot be loaded by {sys.executable}: {error}", f"install it: {install_command()}"
        ) from error
    if _numbers(llama_cpp.__version__) < _numbers(LEAST_VERSION):
        raise EngineMissingError(
            f"llama-cpp-python {llama_cpp.__version__} in {sys.executable} is too old: specdesk needs {LEAST_VERSION} "
            "or newer",
            f"install it: {install_command()}",
        )


def _refuse(requests: BinaryIO, replies: BinaryIO, error: EngineMissingError) -> None:
    while (request := wire.receive_request(requests)) is not None:
        if not isinstance(request, wire.StopNext):
            wire.send(replies, wire.Failed.by(error))


_N_NUMBERS: Final = 3


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)[:_N_NUMBERS]]
