"""GPUs by what the system shows, on made-up machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from specdesk.engine.gpus import Gpu, Maker, seen_gpus

DRIVER = "Model: \t\t NVIDIA H200\nIRQ:   \t\t 42\n"


@pytest.fixture(autouse=True)
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """All that PATH has: nothing, at first."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def nvidia_smi(tools: Path, script: str) -> None:
    (tools / "nvidia-smi").write_text(f"#!/bin/sh\n{script}\n")
    (tools / "nvidia-smi").chmod(0o755)


def card(root: Path, name: str, vendor: str, vram: int | None = None) -> None:
    device = root / "sys/class/drm" / name / "device"
    device.mkdir(parents=True)
    (device / "vendor").write_text(f"{vendor}\n")
    (device / "device").write_text("0x744c\n")
    if vram is not None:
        (device / "mem_info_vram_total").write_text(f"{vram}\n")


def driver(root: Path) -> None:
    folder = root / "proc/driver/nvidia/gpus/0000:0a:00.0"
    folder.mkdir(parents=True)
    (folder / "information").write_text(DRIVER)


def test_none(tmp_path: Path) -> None:
    seen = seen_gpus(tmp_path, "Linux", "x86_64")
    assert (seen.gpus, seen.problem) == ((), "")


@pytest.mark.parametrize(("architecture", "n"), [("arm64", 1), ("x86_64", 0)])
def test_apple(tmp_path: Path, architecture: str, n: int) -> None:
    assert [gpu.maker for gpu in seen_gpus(tmp_path, "Darwin", architecture).gpus] == [Maker.APPLE] * n


def test_nvidia_by_its_tool(tmp_path: Path, tools: Path) -> None:
    nvidia_smi(tools, "echo 'GeForce RTX 4090, 24564'; echo 'Tesla, with a comma, 100'; echo 'GB10, [N/A]'")
    driver(tmp_path)
    card(tmp_path, "card0", "0x10de")
    assert seen_gpus(tmp_path, "Linux").gpus == (
        Gpu(Maker.NVIDIA, "GeForce RTX 4090", 24564 * 2**20),
        Gpu(Maker.NVIDIA, "Tesla, with a comma", 100 * 2**20),
        Gpu(Maker.NVIDIA, "GB10", 0),
    )


def test_nvidia_by_its_driver_without_the_tool(tmp_path: Path) -> None:
    driver(tmp_path)
    assert seen_gpus(tmp_path, "Linux").gpus == (Gpu(Maker.NVIDIA, "NVIDIA H200", 0),)


def test_nvidia_without_a_driver(tmp_path: Path) -> None:
    card(tmp_path, "card0", "0x10de")
    assert seen_gpus(tmp_path, "Linux").gpus == (Gpu(Maker.NVIDIA, "NVIDIA GPU 0x744c", 0),)


def test_a_tool_that_fails_says_why(tmp_path: Path, tools: Path) -> None:
    nvidia_smi(tools, "echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18")
    driver(tmp_path)
    seen = seen_gpus(tmp_path, "Linux")
    assert [gpu.name for gpu in seen.gpus] == ["NVIDIA H200"]
    assert seen.problem == "nvidia-smi: Failed to initialize NVML: Driver/library version mismatch"


def test_one_that_cannot_be_started_does_too(tmp_path: Path, tools: Path) -> None:
    (tools / "nvidia-smi").write_text("\0")
    (tools / "nvidia-smi").chmod(0o755)
    assert "does not answer" in seen_gpus(tmp_path, "Linux").problem


def test_cards_of_other_makers(tmp_path: Path) -> None:
    card(tmp_path, "card0", "0x8086")
    card(tmp_path, "card1", "0x1002", 24 * 10**9)
    card(tmp_path, "card1-HDMI-A-1", "0x1002")
    card(tmp_path, "card2", "0x1234")
    assert seen_gpus(tmp_path, "Linux").gpus == (
        Gpu(Maker.INTEL, "Intel GPU 0x744c", 0),
        Gpu(Maker.AMD, "AMD GPU 0x744c", 24 * 10**9),
    )
