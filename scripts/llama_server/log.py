"""What another program said, as far as it helps."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from specdesk.tokenview import visible

_LINES: Final = 12


def last_lines(log: Path) -> str:
    """The last lines of a log that are not blank, safe for a terminal."""
    lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return "\n".join(f"  {visible(line)}" for line in lines[-_LINES:]) or "  (it said nothing)"
