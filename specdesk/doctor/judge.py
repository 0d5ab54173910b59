"""From facts to what is amiss and what to do: pure functions, so that any machine can be made up and judged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from rich.filesize import decimal

from specdesk.doctor.facts import Facts
from specdesk.doctor.recommend import can_be_had, recommend
from specdesk.engine.client import BUILD_OPTIONS, Gpu, Maker
from specdesk.hub.here.inventory import Presence
from specdesk.paths import ROOM_HINT

_BACKENDS: Final = {
    Maker.NVIDIA: ("CUDA", "Vulkan"),
    Maker.APPLE: ("MTL", "Metal"),
    Maker.AMD: ("ROCm", "HIP", "Vulkan"),
    Maker.INTEL: ("SYCL", "Vulkan"),
}
"""What llama.cpp calls the backends that can use a GPU of that maker."""
_TOOLKITS: Final = {
    Maker.NVIDIA: "it takes the CUDA toolkit (nvcc)",
    Maker.APPLE: "it takes Apple's command line tools",
    Maker.AMD: "it takes the Vulkan SDK (glslc)",
    Maker.INTEL: "it takes the Vulkan SDK (glslc)",
}
_OWN_MEMORY: Final = 10**9
"""A GPU with less of its own is part of a processor, and seldom faster than it."""


class Weight(StrEnum):
    """How much a finding matters."""

    PROBLEM = "problem"
    """Models cannot be run before it is solved."""
    ADVICE = "advice"
    """Something is lost."""
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to know."""

    weight: Weight
    text: str
    do: str = ""
    """What to do, often a command."""


def findings(facts: Facts) -> list[Finding]:
    """Everything worth saying, problems first."""
    found = [*_of_engine(facts), *_of_gpus(facts), *_of_cores(facts), *_of_disk(facts), *_of_hub(facts)]
    return sorted(found, key=lambda finding: list(Weight).index(finding.weight))


def _of_engine(facts: Facts) -> Iterator[Finding]:
    if facts.engine.build is None:
        yield Finding(Weight.PROBLEM, facts.engine.problem, facts.engine.advice)


def _of_gpus(facts: Facts) -> Iterator[Finding]:
    if facts.gpu_problem:
        yield Finding(Weight.ADVICE, facts.gpu_problem, "before llama.cpp can use a GPU its driver has to answer")
    build = facts.engine.build
    backends = build.backends if build is not None else ()
    sees = build is not None and any(device.takes_layers for device in build.devices)
    for maker in dict.fromkeys(gpu.maker for gpu in facts.gpus):
        gpus = [gpu for gpu in facts.gpus if gpu.maker is maker]
        names = " and ".join(dict.fromkeys(gpu.name for gpu in gpus))
        if not any(backend.startswith(_BACKENDS[maker]) for backend in backends):
            yield _unused(facts, maker, names, gpus, seen_others=sees)
        elif not sees:
            hidden = f": {facts.hidden_by} is set" if facts.hidden_by else ""
            yield Finding(
                Weight.ADVICE,
                f"this build of llama.cpp has {', '.join(backends)}, and sees no GPU though {names} is here{hidden}",
                "unset it" if hidden else "see whether the driver answers and fits the build",
            )


def _unused(facts: Facts, maker: Maker, names: str, gpus: list[Gpu], *, seen_others: bool) -> Finding:
    # One that shares the processor's memory may help or not; llama.cpp uses another one already where it sees one.
    minor = seen_others or (maker in (Maker.AMD, Maker.INTEL) and all(gpu.total_bytes < _OWN_MEMORY for gpu in gpus))
    return Finding(
        Weight.NOTE if minor else Weight.ADVICE,
        f"{names} is here, and this build of llama.cpp cannot use it"
        if facts.engine.build is not None
        else f"{names} is here: llama.cpp should be compiled for it",
        f"{facts.engine.install.replace('{options}', BUILD_OPTIONS[maker])}   ({_TOOLKITS[maker]})",
    )


def _of_cores(facts: Facts) -> Iterator[Finding]:
    if facts.n_usable < facts.n_cores:
        yield Finding(
            Weight.NOTE,
            f"this process may use {facts.n_usable} of {facts.n_cores} cores: its affinity or control group says so",
        )


def _of_disk(facts: Facts) -> Iterator[Finding]:
    if facts.models_problem:
        yield Finding(
            Weight.ADVICE, f"models cannot be kept in {facts.models_dir}: {facts.models_problem}", "set SPECDESK_HOME"
        )
    missing = recommend(facts).pair
    if missing is not None and missing.presence is Presence.ABSENT and missing.size_bytes > facts.disk_free_bytes:
        yield Finding(
            Weight.ADVICE,
            f"{missing.name} takes {decimal(missing.size_bytes)} on the disk, and {decimal(facts.disk_free_bytes)} are "
            f"free in {facts.models_dir}",
            ROOM_HINT,
        )


def _of_hub(facts: Facts) -> Iterator[Finding]:
    if facts.hub.problem:
        here = any(pair.presence is Presence.HERE for pair in facts.pairs)
        others = [pair.name for pair in facts.pairs if pair.presence is not Presence.HERE and can_be_had(facts, pair)]
        do = "models that are here run without it"
        if others:
            do += f", and {' and '.join(others)} can be had from the Python package registry, which was not asked"
        elif facts.hub.closed:
            do += ", and other sources are not asked either as long as the environment says so"
        yield Finding(
            Weight.NOTE if here else Weight.ADVICE,
            f"nothing can be downloaded from {facts.hub.name}: {facts.hub.problem}",
            do,
        )
