"""What the build of llama.cpp tells of itself, asked in a process of its own."""

from __future__ import annotations

import llama_cpp

from specdesk.engine import machine
from specdesk.engine.build import features
from specdesk.engine.client import DeviceKind, ask_build


def test_it_is_told_by_the_engines_process() -> None:
    facts = ask_build()
    assert facts.bindings == llama_cpp.__version__
    assert facts.ggml
    assert any(name.startswith("CPU") for name in facts.backends)
    assert facts.features
    assert facts.offloads == llama_cpp.llama_supports_gpu_offload()
    (processor,) = (device for device in facts.devices if device.kind is DeviceKind.CPU)
    assert processor.total_bytes > 10**8
    assert not processor.takes_layers


def test_devices_of_a_profile_are_the_same() -> None:
    assert machine.machine()["devices"] == [device.description for device in ask_build().devices]


def test_features_are_those_that_are_on() -> None:
    said = "CUDA : ARCHS = 890 | USE_GRAPHS = 1 | CPU : SSE3 = 1 | AVX = 0 | AVX2 = 1 | REPACK = 1 | SSE3 = 1 | "
    assert features(said) == ("USE_GRAPHS", "SSE3", "AVX2", "REPACK")
