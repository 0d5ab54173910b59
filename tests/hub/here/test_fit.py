"""What fits in memory, and how much of it is free."""

from __future__ import annotations

import subprocess
import sys

import pytest

from specdesk.hub.here.fit import Fit, fit, free_memory
from specdesk.system_memory import SystemMemory

GB = 10**9


@pytest.mark.parametrize(
    ("needed", "expected"),
    [(0, Fit.FITS), (8 * GB, Fit.FITS), (8 * GB + 1, Fit.TIGHT), (10 * GB, Fit.TIGHT), (10 * GB + 1, Fit.NOT)],
)
def test_how_so_much_goes_into_ten_gigabytes(needed: int, expected: Fit) -> None:
    assert fit(needed, 10 * GB) is expected


def test_what_the_engine_gives_back_counts_as_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child holds 200 MB of its own."""

    monkeypatch.setattr("specdesk.hub.here.fit.system_memory", lambda: SystemMemory(16 * GB, 10 * GB, 0))
    alone = free_memory()
    held = 200 * 10**6
    child = subprocess.Popen(
        [sys.executable, "-c", f"held = b'x' * {held}; print('ready', flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with child:
        assert child.stdout is not None
        child.stdout.readline()
        assert held < free_memory() - alone < held + 100 * 10**6
        child.communicate(b"\n")
