"""What is known of a machine: records only. Sizes are bytes; 0 or an empty text where something does not say."""

from __future__ import annotations

from dataclasses import dataclass

from specdesk.engine.client import BuildFacts, Gpu
from specdesk.hub.here.inventory import Presence


@dataclass(frozen=True, slots=True)
class Engine:
    """llama.cpp, if there is one."""

    build: BuildFacts | None
    problem: str
    """Why there is none; empty where there is."""
    advice: str
    """What to do about that."""
    install: str
    """The command that compiles it, but for options of the build, which `{options}` stands for."""


@dataclass(frozen=True, slots=True)
class PairFacts:
    """A recommended pair, and what it would need."""

    name: str
    summary: str
    presence: Presence
    size_bytes: int
    target_bytes: int
    """Of the target's files."""
    needed_bytes: int
    """Of the system's memory, with the context that is judged and no layers on a GPU."""
    gpu_bytes: int
    """Of a GPU's memory, with all layers there."""
    cache_bytes: int
    """What of that are the caches."""
    licence: str
    """Of target and draft, where they differ both."""
    elsewhere: bool
    """Whether what is missing of it has another source than the hub."""


@dataclass(frozen=True, slots=True)
class Hub:
    """Where models are downloaded from."""

    name: str
    problem: str
    """Why nothing can be had from there now; empty where something can."""
    closed: bool = False
    """Whether other sources are not asked in its place either."""


@dataclass(frozen=True, slots=True)
class Facts:
    """All of it."""

    specdesk: str
    python: str
    executable: str
    system: str
    """Linux or Darwin, as Python's platform.system says."""
    architecture: str
    engine: Engine
    gpus: tuple[Gpu, ...]
    gpu_problem: str
    """What the driver of a GPU complains of."""
    hidden_by: str
    """The environment variable that tells llama.cpp which GPUs to see, with its value; empty if none is set."""
    n_cores: int
    """Of the machine: physical ones."""
    n_usable: int
    """CPUs that this process may use at once."""
    n_threads: int
    """What models are run with."""
    memory_free_bytes: int
    memory_total_bytes: int
    """Of the system, within the limits of this process's control groups; what is free likewise."""
    models_dir: str
    models_problem: str
    """Why nothing can be put there."""
    disk_free_bytes: int
    hub: Hub
    n_ctx: int
    """The context that is judged."""
    pairs: tuple[PairFacts, ...]
