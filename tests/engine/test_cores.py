"""How many threads a model may use: cores, affinity, quotas."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from specdesk.engine import cores
from specdesk.engine.cores import _quotas, best_threads, most_threads

PRINT = "from specdesk.engine.cores import best_threads; print(best_threads())"


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no CPU affinity")
def test_affinity_limits_it() -> None:
    """In a process of its own, started like `taskset` does: the other tests keep their cores."""
    core = min(os.sched_getaffinity(0))
    narrowed = f"import os; os.sched_setaffinity(0, {{{core}}}); {PRINT}"
    done = subprocess.run([sys.executable, "-c", narrowed], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"


def test_never_more_than_there_are_physical_cores() -> None:
    assert 1 <= best_threads() <= (psutil.cpu_count(logical=False) or os.cpu_count() or 1)


@pytest.mark.parametrize(
    ("physical", "allowed", "quotas", "best", "most"),
    [
        (8, 16, [], 8, 16),
        (8, 16, [2], 2, 2),
        (8, 16, [12], 8, 12),
        (8, 16, [4, 3], 3, 3),
        (8, 4, [], 4, 4),
        (None, 6, [], 6, 6),
    ],
)
def test_the_smallest_limit_counts(
    monkeypatch: pytest.MonkeyPatch, physical: int | None, allowed: int, quotas: list[int], best: int, most: int
) -> None:
    monkeypatch.setattr(psutil, "cpu_count", lambda logical: physical)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(allowed)), raising=False)
    monkeypatch.setattr(cores, "_quotas", lambda: quotas)
    monkeypatch.setattr(cores, "_CPUS", Path("nowhere"))
    assert (best_threads(), most_threads()) == (best, most)


@pytest.mark.parametrize(
    ("siblings", "allowed", "best"),
    [
        (["0-1", "0-1", "2-3", "2-3"], {0, 1}, 1),
        (["0-1", "0-1", "2-3", "2-3"], {1, 2}, 2),
        (["0,2", "1,3", "0,2", "1,3"], {0, 1, 2}, 2),
        (["0", "1", "2", "3"], {0, 2, 3}, 3),
        (["0-1", "", "2-3", "2-3"], {0, 1}, 2),
    ],
    ids=["one core", "two halves", "numbered apart", "no hyperthreads", "not told of all"],
)
def test_two_cpus_of_one_core_are_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, siblings: list[str], allowed: set[int], best: int
) -> None:
    """As taskset and containers hand them out: by number, on a machine of many more cores."""
    for cpu, said in enumerate(siblings):
        (tmp_path / f"cpu{cpu}" / "topology").mkdir(parents=True)
        (tmp_path / f"cpu{cpu}" / "topology" / "thread_siblings_list").write_text(f"{said}\n")
    monkeypatch.setattr(cores, "_CPUS", tmp_path)
    monkeypatch.setattr(psutil, "cpu_count", lambda logical: 16)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: allowed, raising=False)
    monkeypatch.setattr(cores, "_quotas", list)
    assert (best_threads(), most_threads()) == (best, len(allowed))


class TestQuotas:
    @pytest.mark.parametrize(
        ("content", "quotas"),
        [
            ("max 100000\n", []),
            ("200000 100000\n", [2]),
            ("150000 100000\n", [2]),
            ("50000 100000\n", [1]),
            ("1000 100000\n", [1]),
            ("nonsense\n", []),
            ("", []),
            ("100000 0\n", []),
            ("100000 many\n", []),
        ],
    )
    def test_version_2(self, tmp_path: Path, content: str, quotas: list[int]) -> None:
        (tmp_path / "cpu.max").write_text(content)
        assert _quotas(tmp_path) == quotas

    @pytest.mark.parametrize(
        ("quota", "period", "quotas"),
        [
            ("-1\n", "100000\n", []),
            ("250000\n", "100000\n", [3]),
            ("100\n", "100000\n", [1]),
            ("200000\n", "0\n", []),
            ("200000\n", "\n", []),
        ],
    )
    def test_version_1(self, tmp_path: Path, quota: str, period: str, quotas: list[int]) -> None:
        (tmp_path / "cpu").mkdir()
        (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text(quota)
        (tmp_path / "cpu" / "cpu.cfs_period_us").write_text(period)
        assert _quotas(tmp_path) == quotas

    def test_every_group_around_the_process_counts(self, tmp_path: Path) -> None:
        own = tmp_path / "own"
        own.write_text("12:pids:/x\n0::/slice/unit\n")
        root = tmp_path / "root"
        (root / "slice" / "unit").mkdir(parents=True)
        (root / "slice" / "cpu.max").write_text("300000 100000\n")
        (root / "slice" / "unit" / "cpu.max").write_text("150000 100000\n")
        assert _quotas(root, own) == [2, 3]

    def test_every_group_of_version_1_too(self, tmp_path: Path) -> None:
        own = tmp_path / "own"
        own.write_text("5:cpu,cpuacct:/docker/1\n3:memory:/docker\n")
        for group, quota in (("", 400_000), ("docker/1", 150_000)):
            (tmp_path / "cpu" / group).mkdir(parents=True, exist_ok=True)
            (tmp_path / "cpu" / group / "cpu.cfs_quota_us").write_text(f"{quota}\n")
            (tmp_path / "cpu" / group / "cpu.cfs_period_us").write_text("100000\n")
        assert _quotas(tmp_path, own) == [2, 4]

    def test_a_group_that_leads_nowhere_is_no_limit(self, tmp_path: Path) -> None:
        own = tmp_path / "own"
        own.write_text("0::/../../elsewhere\n")
        assert _quotas(tmp_path, own) == []

    def test_none_without_control_groups(self, tmp_path: Path) -> None:
        assert _quotas(tmp_path / "absent") == []
