"""How many threads a model may use here."""

from __future__ import annotations

import math
import os
from pathlib import Path

import psutil


def most_threads() -> int:
    """CPUs this process may use at once: those of its affinity, within its control groups' quotas; at least 1."""
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([affinity, *_quotas()]))


def best_threads() -> int:
    """The same, but one per physical core: a second thread on a core only gets in the way of matrix products."""
    return min(most_threads(), psutil.cpu_count(logical=False) or most_threads())


def _quotas(cgroup: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> list[int]:
    """CPU quotas of the control groups above this process, versions 2 and 1, rounded up; empty without one."""
    quotas: list[int] = []
    pairs: list[tuple[str, str]] = []
    for group in _groups(cgroup, own):
        try:
            quota, period = (group / "cpu.max").read_text().split()
            pairs.append((quota, period))
        except (OSError, ValueError):
            continue
    try:
        v1 = cgroup / "cpu"
        pairs.append(((v1 / "cpu.cfs_quota_us").read_text(), (v1 / "cpu.cfs_period_us").read_text()))
    except OSError:
        pass
    for quota, period in pairs:
        if quota.strip().isdigit() and period.strip().isdigit() and int(period) > 0:
            quotas.append(max(1, math.ceil(int(quota) / int(period))))
    return quotas


def _groups(cgroup: Path, own: Path) -> list[Path]:
    """The version 2 group of this process and those around it: inside a container only the outermost is seen."""
    try:
        line = next(line for line in own.read_text().splitlines() if line.startswith("0::"))
    except (OSError, StopIteration):
        return [cgroup]
    group = cgroup / line.removeprefix("0::").lstrip("/")
    return [group, *(parent for parent in group.parents if parent.is_relative_to(cgroup))]
