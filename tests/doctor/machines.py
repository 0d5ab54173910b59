"""Made-up machines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from specdesk.doctor.facts import Engine, Facts, Hub, PairFacts
from specdesk.engine.client import BuildFacts, Device, DeviceKind, Gpu, Maker
from specdesk.hub.here.inventory import Presence

GB = 10**9
INSTALL = "CMAKE_ARGS={options} python -m pip install llama-cpp-python"


def pair(name: str, target_gb: float, presence: Presence = Presence.ABSENT, cache_gb: float = 0.4) -> PairFacts:
    """With a draft of 0.5 GB."""
    target, cache = int(target_gb * GB), int(cache_gb * GB)
    needed = target + GB // 2 + cache
    return PairFacts(name, "", presence, target + GB // 2, target, needed, needed, cache, "MIT", elsewhere=False)


SMALL, MIDDLE, LARGE = pair("small", 1.1), pair("middle", 4.7), pair("large", 19.0)


def device(name: str, kind: DeviceKind, free_gb: float = 0.0) -> Device:
    free = int(free_gb * GB)
    return Device(name, f"a {kind}", kind, free, 2 * free)


def engine(*backends: str, devices: tuple[Device, ...] = ()) -> Engine:
    """A build with these backends beside the processor's."""
    everything = (device("CPU", DeviceKind.CPU), *devices)
    build = BuildFacts("0.3.36", "0.25.3", ("CPU", *backends), ("AVX2",), bool(backends), everything)
    return Engine(build, "", "", INSTALL)


NO_ENGINE = Engine(None, "llama-cpp-python cannot be loaded: no module", "install it: pip install it", INSTALL)
NVIDIA = Gpu(Maker.NVIDIA, "GeForce RTX 4090", 24 * GB)

LAPTOP = Facts(
    specdesk="0.1.0",
    python="3.11.7",
    executable="python",
    system="Linux",
    architecture="x86_64",
    engine=engine(),
    gpus=(),
    gpu_problem="",
    hidden_by="",
    n_cores=8,
    n_usable=8,
    n_threads=8,
    memory_free_bytes=12 * GB,
    memory_total_bytes=16 * GB,
    models_dir="models",
    models_problem="",
    disk_free_bytes=100 * GB,
    hub=Hub("hub", ""),
    n_ctx=4096,
    pairs=(SMALL, MIDDLE, LARGE),
)
"""Eight cores, no GPU, nothing amiss."""


def machine(**changes: Any) -> Facts:
    return replace(LAPTOP, **changes)
