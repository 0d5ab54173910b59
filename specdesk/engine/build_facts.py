"""What a build of llama.cpp is and sees: records only, nothing native."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class DeviceKind(StrEnum):
    """As ggml tells devices apart."""

    CPU = "cpu"
    GPU = "gpu"
    INTEGRATED_GPU = "integrated gpu"
    """It shares the system's memory."""
    ACCELERATOR = "accelerator"
    """It helps the processor, as BLAS does."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Device:
    """What can compute."""

    name: str
    """As llama.cpp calls it: CUDA0."""
    description: str
    kind: DeviceKind
    free_bytes: int
    """0 where it does not say. The same below."""
    total_bytes: int

    @property
    def takes_layers(self) -> bool:
        """Whether layers of a model can be put there, away from the processor."""
        return self.kind in (DeviceKind.GPU, DeviceKind.INTEGRATED_GPU)


@dataclass(frozen=True, slots=True)
class BuildFacts:
    """A build of llama.cpp."""

    bindings: str
    """The version of llama-cpp-python."""
    ggml: str
    """The version, and the commit, of the library that computes; llama.cpp tells no other of itself. May be empty."""
    backends: tuple[str, ...]
    """Compiled in, or found beside the library."""
    features: tuple[str, ...]
    """What its code for processors uses, and what else it was compiled with."""
    offloads: bool
    """Whether layers can be put on a GPU, or on another machine (RPC)."""
    devices: tuple[Device, ...]
