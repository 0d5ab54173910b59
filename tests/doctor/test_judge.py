"""What is said of made-up machines."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specdesk.doctor.facts import Facts, Hub
from specdesk.doctor.judge import Finding, Weight, findings
from specdesk.doctor.recommend import licence_note, recommend, room
from specdesk.engine.client import DeviceKind, Gpu, Maker
from specdesk.hub.here.inventory import Presence
from tests.doctor.machines import GB, LAPTOP, LARGE, MIDDLE, NO_ENGINE, NVIDIA, SMALL, device, engine, machine


def only(facts: Facts) -> Finding:
    (finding,) = findings(facts)
    return finding


def advised(facts: Facts) -> str | None:
    found = recommend(facts).pair
    return None if found is None else found.name


class TestFindings:
    def test_nothing_is_said_of_a_machine_without_faults(self) -> None:
        assert findings(LAPTOP) == []

    def test_no_engine_is_the_first_thing_said(self) -> None:
        first, second = findings(machine(engine=NO_ENGINE, hub=Hub("hub", "hub is down")))
        assert (first.weight, first.text, first.do) == (Weight.PROBLEM, NO_ENGINE.problem, NO_ENGINE.advice)
        assert second.weight is Weight.ADVICE

    @pytest.mark.parametrize(
        ("gpu", "options"),
        [
            (NVIDIA, "-DGGML_CUDA=on"),
            (Gpu(Maker.APPLE, "Apple GPU", 0), "-DGGML_METAL=on"),
            (Gpu(Maker.AMD, "AMD GPU 0x744c", 24 * GB), "-DGGML_VULKAN=on"),
        ],
    )
    @pytest.mark.parametrize("build", [engine(), engine("BLAS")], ids=["CPU", "BLAS"])
    def test_a_gpu_that_the_build_cannot_use_comes_with_the_line_that_compiles_one(
        self, gpu: Gpu, options: str, build: object
    ) -> None:
        found = only(machine(gpus=(gpu,), engine=build))
        assert found.weight is Weight.ADVICE
        assert gpu.name in found.text
        assert found.do.startswith(f"CMAKE_ARGS={options} python -m pip install llama-cpp-python ")

    def test_without_an_engine_it_is_compiled_for_the_gpu(self) -> None:
        problem, gpu = findings(machine(gpus=(NVIDIA,), engine=NO_ENGINE))
        assert problem.weight is Weight.PROBLEM
        assert "CMAKE_ARGS=-DGGML_CUDA=on" in gpu.do

    def test_graphics_inside_a_processor_are_a_note(self) -> None:
        found = only(machine(gpus=(Gpu(Maker.INTEL, "Intel GPU", 0),)))
        assert found.weight is Weight.NOTE
        assert "-DGGML_VULKAN=on" in found.do

    @pytest.mark.parametrize(("gb", "weight"), [(0.5, Weight.NOTE), (1, Weight.ADVICE), (8, Weight.ADVICE)])
    @pytest.mark.parametrize("maker", [Maker.INTEL, Maker.AMD])
    def test_cards_with_memory_of_their_own_are_advice(self, maker: Maker, gb: float, weight: Weight) -> None:
        assert only(machine(gpus=(Gpu(maker, "a GPU", int(gb * GB)),))).weight is weight

    def test_a_second_gpu_beside_one_that_is_used_is_a_note(self) -> None:
        used = engine("ROCm", devices=(device("ROCm0", DeviceKind.GPU, 20),))
        found = only(machine(gpus=(NVIDIA, Gpu(Maker.AMD, "AMD GPU", 24 * GB)), engine=used))
        assert (found.weight, found.text.startswith(NVIDIA.name)) == (Weight.NOTE, True)

    @pytest.mark.parametrize(
        ("gpu", "backend", "kind"),
        [
            (NVIDIA, "CUDA", DeviceKind.GPU),
            (NVIDIA, "Vulkan", DeviceKind.GPU),
            (Gpu(Maker.APPLE, "Apple GPU", 0), "MTL", DeviceKind.GPU),
            (Gpu(Maker.AMD, "AMD GPU", 0), "ROCm", DeviceKind.INTEGRATED_GPU),
        ],
    )
    def test_nothing_is_said_of_one_that_is_used(self, gpu: Gpu, backend: str, kind: DeviceKind) -> None:
        assert findings(machine(gpus=(gpu,), engine=engine(backend, devices=(device("GPU0", kind, 20),)))) == []

    def test_one_that_is_hidden(self) -> None:
        found = only(machine(gpus=(NVIDIA,), engine=engine("CUDA"), hidden_by="CUDA_VISIBLE_DEVICES=-1"))
        assert found.weight is Weight.ADVICE
        assert "CUDA_VISIBLE_DEVICES=-1" in found.text

    def test_one_whose_driver_is_silent(self) -> None:
        said = "nvidia-smi: Failed to initialize NVML"
        texts = [found.text for found in findings(machine(gpus=(NVIDIA,), engine=engine("CUDA"), gpu_problem=said))]
        assert texts[0] == said
        assert "sees no GPU" in texts[1]

    def test_two_cores_in_a_control_group(self) -> None:
        found = only(machine(n_usable=2, n_threads=2))
        assert found.weight is Weight.NOTE
        assert "2 of 8 cores" in found.text

    def test_hyperthreads_are_no_loss(self) -> None:
        assert findings(machine(n_usable=16)) == []

    def test_offline_matters_less_where_a_pair_is_here(self) -> None:
        down = Hub("hub", "hub did not answer")
        assert only(machine(hub=down)).weight is Weight.ADVICE
        here = replace(SMALL, presence=Presence.HERE)
        found = only(machine(hub=down, pairs=(here, MIDDLE)))
        assert found.weight is Weight.NOTE
        assert "hub did not answer" in found.text

    def test_a_disk_without_room_for_what_is_recommended(self) -> None:
        assert "middle takes 5.2 GB on the disk, and 1.0 GB are free" in only(machine(disk_free_bytes=GB)).text
        assert findings(machine(disk_free_bytes=GB, pairs=(replace(MIDDLE, presence=Presence.HERE),))) == []

    def test_a_models_folder_that_cannot_be_written(self) -> None:
        assert "may not be written" in only(machine(models_problem="home may not be written")).text


class TestRecommendation:
    def test_the_largest_that_fits_with_room_to_spare(self) -> None:
        assert advised(LAPTOP) == "middle"
        assert advised(machine(memory_free_bytes=GB * 6)) == "small", "5.6 of 6 GB is tight"

    def test_a_processor_is_not_asked_to_read_more_than_it_can(self) -> None:
        roomy = machine(memory_free_bytes=100 * GB)
        assert advised(roomy) == "middle"
        assert "larger ones would be slow on 8 threads" in recommend(roomy).why
        assert advised(machine(n_threads=1)) == "small"

    def test_a_gpu_is(self) -> None:
        facts = machine(engine=engine("CUDA", devices=(device("CUDA0", DeviceKind.GPU, 25),)))
        assert (room(facts).where, room(facts).free_bytes) == ("CUDA0", 25 * GB)
        assert advised(facts) == "large"

    def test_its_memory_is_what_counts(self) -> None:
        facts = machine(engine=engine("CUDA", devices=(device("CUDA0", DeviceKind.GPU, 4),)))
        assert advised(facts) == "small"

    def test_what_it_takes_there_is_what_counts(self) -> None:
        there = (device("CUDA0", DeviceKind.GPU, 25),)
        pairs = (SMALL, replace(LARGE, gpu_bytes=21 * GB))
        assert advised(machine(engine=engine("CUDA", devices=there), pairs=pairs)) == "small"

    def test_two_gpus_count_together(self) -> None:
        both = (device("CUDA0", DeviceKind.GPU, 12), device("CUDA1", DeviceKind.GPU, 14))
        facts = machine(engine=engine("CUDA", devices=both))
        assert (room(facts).where, advised(facts)) == ("CUDA0 and CUDA1", "large")

    def test_an_accelerator_has_no_memory_of_its_own(self) -> None:
        facts = machine(engine=engine("BLAS", devices=(device("BLAS", DeviceKind.ACCELERATOR),)))
        assert not room(facts).on_gpu

    def test_offline_one_that_is_here(self) -> None:
        here = replace(SMALL, presence=Presence.HERE)
        assert advised(machine(pairs=(here, MIDDLE))) == "middle"
        assert advised(machine(pairs=(here, MIDDLE), hub=Hub("hub", "down"))) == "small"
        assert advised(machine(hub=Hub("hub", "down"))) is None
        elsewhere = replace(SMALL, elsewhere=True)
        assert advised(machine(pairs=(elsewhere, MIDDLE), hub=Hub("hub", "down"))) == "small"
        assert advised(machine(pairs=(elsewhere, MIDDLE), hub=Hub("hub", "down", closed=True))) is None
        why = recommend(machine(hub=Hub("hub", "hub is down"))).why
        assert why == "no pair is here, and none can be had: hub is down"
        assert advised(machine(models_problem="models is no folder")) is None
        assert advised(machine(pairs=(here, MIDDLE), models_problem="models is no folder")) == "small"

    def test_a_licence_that_is_not_free_is_named(self) -> None:
        assert licence_note(SMALL) == ""
        assert licence_note(replace(SMALL, licence="MIT + Llama 3.1 Community License")) == (
            "its licence: Llama 3.1 Community License"
        )

    def test_where_all_would_be_slow_the_smallest(self) -> None:
        slow = recommend(machine(n_threads=1, memory_free_bytes=100 * GB, pairs=(LARGE, MIDDLE)))
        assert slow.pair == MIDDLE
        assert "larger ones would be slow on 1 thread" in slow.why

    def test_low_memory(self) -> None:
        tight = recommend(machine(memory_free_bytes=int(2.1 * GB)))
        assert tight.pair == SMALL
        assert "tight" in tight.why
        shorter = recommend(machine(memory_free_bytes=int(1.8 * GB)))
        assert shorter.pair == SMALL
        assert "--ctx 1024" in shorter.why
        none = recommend(machine(memory_free_bytes=GB))
        assert none.pair is None
        assert "small takes 2.0 GB, and 1.0 GB are free" in none.why

    def test_without_an_engine_memory_is_what_counts(self) -> None:
        assert advised(machine(engine=NO_ENGINE)) == "middle"

    def test_of_equals_the_first(self) -> None:
        assert advised(machine(pairs=(MIDDLE, replace(MIDDLE, name="other"), LARGE))) == "middle"
