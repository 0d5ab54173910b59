"""The command as a user's shell runs it: a process of its own, its two streams apart."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

COMMAND = (sys.executable, "-m", "specdesk")
TIMEOUT_S = 60


def specdesk(
    *args: object, stdin: str | bytes = "", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `specdesk` to its end, without a terminal. Its output is decoded and otherwise left as it is."""
    done = subprocess.run(
        [*COMMAND, *(str(arg) for arg in args)],
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
        env=os.environ | (env or {}),
    )
    out, err = (stream.decode(errors="replace") for stream in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)


def started(*args: object) -> subprocess.Popen[str]:
    """`specdesk` while it runs; a context manager."""
    command = [*COMMAND, *(str(arg) for arg in args)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def answer(*args: object, stdin: str = "") -> dict[str, Any]:
    """The object that `specdesk run --json` prints."""
    done = specdesk("run", "--json", *args, stdin=stdin)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def lines(text: str) -> Sequence[str]:
    """What was said, line by line."""
    return [line for line in text.splitlines() if line.strip()]
