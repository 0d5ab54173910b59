"""Which GPUs the system shows, by what is cheap to ask: files of the kernel, and the NVIDIA driver's own tool."""

from __future__ import annotations

import platform
import shutil
import subprocess
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

_TOOL_S: Final = 5.0
"""The tool waits for a driver that may hang."""
_MIB: Final = 2**20


class Maker(StrEnum):
    """Who made a GPU: that decides what llama.cpp has to be compiled with."""

    NVIDIA = "NVIDIA"
    APPLE = "Apple"
    AMD = "AMD"
    INTEL = "Intel"


_VENDORS: Final = {"0x1002": Maker.AMD, "0x8086": Maker.INTEL, "0x10de": Maker.NVIDIA}
"""PCI's numbers of them."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One that the system shows, whether llama.cpp can use it or not."""

    maker: Maker
    name: str
    total_bytes: int
    """Of its own memory; 0 too where it shares the system's."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What was found."""

    gpus: tuple[Gpu, ...]
    problem: str = ""
    """What the driver complains of; empty if it does not."""


def seen_gpus(root: Path = Path("/"), system: str | None = None, architecture: str | None = None) -> Seen:
    """Those of this machine, whose files lie below `root`. Nothing is raised: what cannot be asked is not seen."""
    if (system or platform.system()) == "Darwin":
        apple = (architecture or platform.machine()) == "arm64"
        return Seen((Gpu(Maker.APPLE, "Apple GPU", 0),) if apple else ())
    cards = _cards(root / "sys/class/drm")
    others = tuple(gpu for gpu in cards if gpu.maker is not Maker.NVIDIA)
    by_tool = _by_nvidia_smi()
    if by_tool.gpus:
        return Seen((*by_tool.gpus, *others), by_tool.problem)
    nvidia = _by_driver(root / "proc/driver/nvidia/gpus") or tuple(g for g in cards if g.maker is Maker.NVIDIA)
    return Seen((*nvidia, *others), by_tool.problem)


def _by_nvidia_smi() -> Seen:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return Seen(())
    asked = [tool, "--query-gpu=name,memory.total", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, errors="replace", timeout=_TOOL_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Seen((), f"nvidia-smi does not answer: {error}")
    if done.returncode != 0:
        said = (done.stdout + done.stderr).strip().splitlines() or [f"it ended with code {done.returncode}"]
        return Seen((), f"nvidia-smi: {said[0]}")
    rows = [line.rpartition(",") for line in done.stdout.splitlines() if line.strip()]
    return Seen(
        tuple(Gpu(Maker.NVIDIA, name.strip(), int(mib) * _MIB if mib.strip().isdigit() else 0) for name, _, mib in rows)
    )


def _by_driver(folder: Path) -> tuple[Gpu, ...]:
    """As the kernel's module tells: also in a container that has no nvidia-smi."""
    found = []
    for information in _listed(folder, "*/information"):
        for line in _text(information).splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "Model":
                found.append(Gpu(Maker.NVIDIA, value.strip(), 0))
    return tuple(found)


def _cards(folder: Path) -> tuple[Gpu, ...]:
    """Every card of the kernel's graphics drivers whose maker is known."""
    found = []
    for vendor in _listed(folder, "card[0-9]*/device/vendor"):
        device = vendor.parent
        maker = _VENDORS.get(_text(vendor).strip())
        # Its connectors lie beside a card, with a device that is the card.
        if maker is not None and "-" not in device.parent.name:
            total = _text(device / "mem_info_vram_total").strip()
            number = _text(device / "device").strip()
            found.append(Gpu(maker, f"{maker} GPU {number}".strip(), int(total) if total.isdigit() else 0))
    return tuple(found)


def _listed(folder: Path, pattern: str) -> list[Path]:
    try:
        return sorted(folder.glob(pattern))
    except OSError:
        return []


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
