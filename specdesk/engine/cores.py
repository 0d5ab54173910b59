"""How many threads a model may use here."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Final

import psutil

from specdesk.control_groups import MOUNTED, OWN, groups, text

_CPUS: Final = Path("/sys/devices/system/cpu")
_QUOTA_AND_PERIOD: Final = 2


def most_threads() -> int:
    """CPUs this process may use at once: those of its affinity, within its control groups' quotas; at least 1."""
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([affinity, *_quotas()]))


def best_threads() -> int:
    """The same, but one per physical core: a second thread on a core only gets in the way of matrix products."""
    most = most_threads()
    return min(most, _cores_allowed() or psutil.cpu_count(logical=False) or most)


def _cores_allowed() -> int:
    """Physical cores that the CPUs of this process's affinity belong to; 0 where the system does not tell."""
    if not hasattr(os, "sched_getaffinity"):
        return 0
    siblings = {text(_CPUS / f"cpu{cpu}" / "topology" / "thread_siblings_list") for cpu in os.sched_getaffinity(0)}
    return 0 if "" in siblings else len(siblings)


def _quotas(mounted: Path = MOUNTED, own: Path = OWN) -> list[int]:
    """CPU quotas of the control groups around this process, versions 2 and 1, rounded up; empty without one."""
    said = [text(group / "cpu.max").split() for group in groups("", mounted, own)]
    v1 = groups("cpu", mounted, own)
    said += [[text(group / "cpu.cfs_quota_us"), text(group / "cpu.cfs_period_us")] for group in v1]
    pairs = [numbers for numbers in said if len(numbers) == _QUOTA_AND_PERIOD]
    return [
        max(1, math.ceil(int(quota) / int(period)))
        for quota, period in pairs
        if quota.isdigit() and period.isdigit() and int(period) > 0
    ]
