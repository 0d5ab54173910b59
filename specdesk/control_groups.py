"""The control groups around this process, where Linux says what they leave it. Read anew each time: limits change."""

from __future__ import annotations

from pathlib import Path
from typing import Final

MOUNTED: Final = Path("/sys/fs/cgroup")
OWN: Final = Path("/proc/self/cgroup")
_FIELDS: Final = 3


def groups(controller: str = "", mounted: Path = MOUNTED, own: Path = OWN) -> list[Path]:
    """The folders of the group of this process and of those around it, the innermost first; not all need exist.

    Of version 2, or of one controller of version 1. Inside a container only the outermost is seen.
    """
    top = mounted / controller
    try:
        lines = own.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return [top]
    for fields in (line.split(":", _FIELDS - 1) for line in lines):
        # The number of version 2 is 0, and it names no controllers.
        if len(fields) == _FIELDS and controller in fields[1].split(","):
            group = top / fields[2].lstrip("/")
            return [group, *(parent for parent in group.parents if parent.is_relative_to(top))]
    return [top]


def text(file: Path) -> str:
    """What a file of a group says; empty where it is not there."""
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
