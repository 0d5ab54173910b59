"""What control groups leave of the memory, on made-up machines of 16 GB with 12 GB free and 2 GB of swap."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from specdesk.system_memory import SystemMemory, system_memory

MB = 10**6
MACHINE = SystemMemory(16_000 * MB, 12_000 * MB, 2_000 * MB)
V1_UNLIMITED = 9_223_372_036_854_771_712

Group = Callable[..., None]


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = SimpleNamespace(total=MACHINE.total, available=MACHINE.available)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    monkeypatch.setattr(psutil, "swap_memory", lambda: SimpleNamespace(total=MACHINE.swap))


def write(folder: Path, **files: object) -> None:
    """Files of a group, `_` in their names for dots but within a word."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(f"{content}\n")


def left(root: Path, own: str = "0::/\n") -> SystemMemory:
    (root / "own").write_text(own)
    return system_memory(root, root / "own")


def test_without_control_groups_it_is_the_system_s(tmp_path: Path) -> None:
    assert system_memory(tmp_path / "none", tmp_path / "none") == MACHINE


@pytest.mark.parametrize("limit", ["max", "", "nonsense", "-1", 64_000 * MB])
def test_a_limit_that_is_none(tmp_path: Path, limit: object) -> None:
    write(tmp_path, memory__max=limit, memory__current=20_000 * MB if limit == "max" else 3 * MB)
    assert left(tmp_path) == MACHINE


class TestVersion2:
    def test_a_limit_holds_less_what_is_used_but_for_what_files_keep(self, tmp_path: Path) -> None:
        stat = f"anon {900 * MB}\nfile {700 * MB}\nshmem {50 * MB}\ninactive_file {400 * MB}\nactive_file {250 * MB}"
        write(tmp_path, memory__max=4_000 * MB, memory__current=1_600 * MB, memory__stat=stat)
        assert left(tmp_path) == SystemMemory(4_000 * MB, (4_000 - 950) * MB, MACHINE.swap)

    def test_the_group_and_all_around_it_count(self, tmp_path: Path) -> None:
        write(tmp_path / "slice", memory__max=2_000 * MB, memory__current=1_500 * MB)
        write(tmp_path / "slice" / "unit", memory__max=1_800 * MB, memory__current=100 * MB)
        assert left(tmp_path, "1:name=systemd:/\n0::/slice/unit\n") == SystemMemory(1_800 * MB, 500 * MB, MACHINE.swap)

    @pytest.mark.parametrize(("swap", "expected"), [("0", 0), ("max", MACHINE.swap), (500 * MB, 500 * MB)])
    def test_swap_may_be_forbidden(self, tmp_path: Path, swap: object, expected: int) -> None:
        write(tmp_path, memory__max=4_000 * MB, memory__current=0, memory__swap__max=swap)
        assert left(tmp_path).swap == expected

    def test_more_used_than_allowed_leaves_nothing(self, tmp_path: Path) -> None:
        write(tmp_path, memory__max=100 * MB, memory__current=120 * MB)
        assert left(tmp_path).available == 0

    def test_other_groups_of_the_system_do_not_count(self, tmp_path: Path) -> None:
        write(tmp_path / "other", memory__max=1, memory__current=0)
        assert left(tmp_path, "0::/slice\n") == MACHINE


class TestVersion1:
    OWN = "9:name=systemd:/x\n4:cpu,cpuacct:/docker/1\n3:memory:/docker/1\n"

    def test_a_limit(self, tmp_path: Path) -> None:
        stat = f"cache {9 * MB}\ntotal_inactive_file {100 * MB}\ntotal_active_file {200 * MB}"
        write(
            tmp_path / "memory" / "docker" / "1",
            memory__limit_in_bytes=3_000 * MB,
            memory__usage_in_bytes=800 * MB,
            memory__memsw__limit_in_bytes=3_500 * MB,
            memory__stat=stat,
        )
        assert left(tmp_path, self.OWN) == SystemMemory(3_000 * MB, 2_500 * MB, 500 * MB)

    def test_inside_a_container_its_own_group_is_the_outermost(self, tmp_path: Path) -> None:
        write(tmp_path / "memory", memory__limit_in_bytes=3_000 * MB, memory__usage_in_bytes=0)
        assert left(tmp_path, self.OWN) == SystemMemory(3_000 * MB, 3_000 * MB, MACHINE.swap)

    def test_no_limit(self, tmp_path: Path) -> None:
        write(
            tmp_path / "memory",
            memory__limit_in_bytes=V1_UNLIMITED,
            memory__usage_in_bytes=20_000 * MB,
            memory__memsw__limit_in_bytes=V1_UNLIMITED,
        )
        assert left(tmp_path, self.OWN) == MACHINE
