"""The memory of this system that this process may use: what is there, within the limits of its control groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from specdesk.control_groups import MOUNTED, OWN, groups, text


@dataclass(frozen=True, slots=True)
class SystemMemory:
    """In bytes."""

    total: int
    available: int
    """What can be had without swapping: also what files keep only to be read again sooner."""
    swap: int
    """All there is of it, used or not."""


@dataclass(frozen=True, slots=True)
class _Names:
    """What a version of control groups calls things."""

    controller: str
    limit: str
    used: str
    cached: tuple[str, ...]
    """Lines of memory.stat: what the kernel takes back where memory runs short."""
    swap: str
    swap_counts_memory: bool


_VERSIONS: Final = (
    _Names("", "memory.max", "memory.current", ("inactive_file", "active_file"), "memory.swap.max", False),
    _Names(
        "memory",
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        ("total_inactive_file", "total_active_file"),
        "memory.memsw.limit_in_bytes",
        True,
    ),
)


_NO_LIMIT: Final = 2**62
"""Version 1 writes a number near 2**63 where there is none."""


def system_memory(mounted: Path = MOUNTED, own: Path = OWN) -> SystemMemory:
    """What this process may use now."""
    memory, swap = psutil.virtual_memory(), int(psutil.swap_memory().total)
    total, available = int(memory.total), int(memory.available)
    for limit in _limits(mounted, own):
        total, available = min(total, limit.total), min(available, limit.available)
        swap = min(swap, limit.swap)
    return SystemMemory(total, available, swap)


def _limits(mounted: Path, own: Path) -> Iterator[SystemMemory]:
    for names in _VERSIONS:
        for group in groups(names.controller, mounted, own):
            limit = text(group / names.limit)
            if limit.isdigit() and int(limit) < _NO_LIMIT:
                yield _of(group, names, int(limit))


def _of(group: Path, names: _Names, limit: int) -> SystemMemory:
    used, swap = text(group / names.used), text(group / names.swap)
    stat = dict(line.split(None, 1) for line in text(group / "memory.stat").splitlines() if " " in line)
    cached = sum(int(stat[name]) for name in names.cached if stat.get(name, "").isdigit())
    held = max(0, int(used) - cached) if used.isdigit() else 0
    more = int(swap) - (limit if names.swap_counts_memory else 0) if swap.isdigit() else _NO_LIMIT
    return SystemMemory(limit, max(0, limit - held), max(0, more))
