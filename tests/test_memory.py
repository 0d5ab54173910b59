"""How much memory models take: the arithmetic, and that it is what the engine's process takes in the end."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from gguf import GGMLQuantizationType
from gguf.constants import GGML_QUANT_SIZES

from specdesk.core.sampling import Sampling
from specdesk.engine.client import AnswerOptions, Engine, Message, StopFlag
from specdesk.hub.gguf.header import read_header
from specdesk.hub.manifest import DEFAULT_ALIAS, load_manifest
from specdesk.memory import CacheType, CacheTypes, ModelSize, needed_bytes
from specdesk.settings import EngineSettings
from tests.tiny.gguf_models import TinyPair

SIZE = ModelSize(10**9, keys=64, values=32)
NOTHING = needed_bytes([ModelSize(0, 0, 0)], 512)


class TestCache:
    def test_every_token_takes_its_keys_and_values(self) -> None:
        assert SIZE.cache_bytes(512) == 512 * (64 + 32) * 2

    def test_there_are_whole_blocks_of_256_tokens(self) -> None:
        assert SIZE.cache_bytes(257) == SIZE.cache_bytes(512) == 2 * SIZE.cache_bytes(1)

    def test_every_type_takes_what_ggml_says(self) -> None:
        for kind in CacheType:
            block, size = GGML_QUANT_SIZES[GGMLQuantizationType[kind.name]]
            assert kind.block_bytes == size * 32 // block

    def test_types_of_keys_and_values(self) -> None:
        mixed = CacheTypes(CacheType.Q8_0, CacheType.Q4_0)
        assert SIZE.cache_bytes(256, mixed) == 256 * (64 * 34 + 32 * 18) // 32
        assert SIZE.cache_bytes(256, CacheTypes(CacheType.F32, CacheType.F32)) == 2 * SIZE.cache_bytes(256)


class TestSum:
    def test_weights_and_caches_of_both_and_one_process(self) -> None:
        both = needed_bytes([SIZE, SIZE], 512) - NOTHING
        assert both == 2 * (10**9 + SIZE.cache_bytes(512))

    def test_a_draft_holds_no_more_than_it_was_trained_for(self) -> None:
        short = ModelSize(0, 64, 32, n_ctx_train=512)
        assert needed_bytes([SIZE, short], 4096) == needed_bytes([SIZE], 4096) + short.cache_bytes(512)
        assert needed_bytes([short], 4096) == NOTHING + short.cache_bytes(4096)

    def test_a_larger_vocabulary_and_wider_layers_take_more(self) -> None:
        assert needed_bytes([ModelSize(0, 0, 0, n_vocab=150_000)], 512) > NOTHING + 40 * 10**6
        assert needed_bytes([ModelSize(0, 0, 0, width=1536, inner=8960)], 512) > NOTHING + 30 * 10**6


@dataclass(frozen=True, slots=True)
class Resident:
    """Bytes of memory that the engine's process has, once it has read a prompt and written an answer."""

    peak: int
    """The most it ever had. Pages of libraries and of models are in it as far as the system has mapped them."""
    own: int
    """What it has that no file holds: the caches and all else that it has allocated."""


def resident(target: Path, draft: Path | None, n_ctx: int, kind: CacheType = CacheType.F16) -> Resident:
    settings = EngineSettings(target, draft, n_ctx, n_threads=1, measure=False, cache_type_k=kind, cache_type_v=kind)
    with Engine(settings, lambda _: None, StopFlag()) as engine:
        turns = [Message("user", "Tell of the sea. " * 30)]
        for _ in engine.chat(turns, AnswerOptions(Sampling(0.8), 1, 4, 8)):
            pass
        lines = Path(f"/proc/{engine.pid}/status").read_text(encoding="utf-8").splitlines()
    kilobytes = {name: value.split()[0] for name, _, value in (line.partition(":") for line in lines) if value.strip()}
    return Resident(int(kilobytes["VmHWM"]) * 1024, int(kilobytes["RssAnon"]) * 1024)


def estimated(target: Path, draft: Path | None, n_ctx: int, kind: CacheType = CacheType.F16) -> int:
    files = [path for path in (target, draft) if path is not None]
    return needed_bytes(
        [read_header(path).memory(path.stat().st_size) for path in files], n_ctx, CacheTypes(kind, kind)
    )


@pytest.mark.skipif(sys.platform != "linux", reason="what a process has is read from /proc")
class TestMeasured:
    @pytest.mark.parametrize("n_ctx", [512, 4096, 16_384])
    def test_the_tiny_pair(self, tiny_pair: TinyPair, n_ctx: int) -> None:
        """Its models take next to nothing, so this is about what the process itself takes.

        That differs by more than a tenth between machines of one kind: how many pages of a library count depends on
        what the system holds of the file already.
        """
        measured = resident(tiny_pair.target, tiny_pair.draft, n_ctx).peak
        assert estimated(tiny_pair.target, tiny_pair.draft, n_ctx) == pytest.approx(measured, abs=24 * 2**20)

    @pytest.mark.parametrize("kind", [CacheType.F16, CacheType.F32])
    def test_a_longer_context_takes_what_its_caches_do(self, tiny_pair: TinyPair, kind: CacheType) -> None:
        """Above the caches it is some 50 bytes that llama.cpp keeps of each cell, whatever the size of the model."""
        short, long = (resident(tiny_pair.target, tiny_pair.draft, n_ctx, kind).own for n_ctx in (512, 65_536))
        told = [estimated(tiny_pair.target, tiny_pair.draft, n_ctx, kind) for n_ctx in (512, 65_536)]
        print(f"measured {long - short:,}, estimated {told[1] - told[0]:,}")  # noqa: T201
        assert told[1] - told[0] == pytest.approx(long - short, rel=0.15)

    @pytest.mark.models
    @pytest.mark.timeout(600)
    @pytest.mark.parametrize(
        ("n_ctx", "kind"),
        [(512, CacheType.F16), (4096, CacheType.F16), (16_384, CacheType.F16), (16_384, CacheType.Q8_0)],
    )
    @pytest.mark.parametrize("drafted", [True, False], ids=["pair", "target alone"])
    def test_the_default_pair(self, real_pair: tuple[Path, Path], n_ctx: int, kind: CacheType, drafted: bool) -> None:
        target, draft = real_pair[0], real_pair[1] if drafted else None
        measured = resident(target, draft, n_ctx, kind).peak
        told = estimated(target, draft, n_ctx, kind)
        print(f"measured {measured / 2**20:.0f} MiB, estimated {told / 2**20:.0f} MiB")  # noqa: T201
        assert told == pytest.approx(measured, rel=0.1)


@pytest.mark.models
def test_the_list_of_pairs_says_what_the_files_say(real_pair: tuple[Path, Path]) -> None:
    for artifact, path in zip(load_manifest().pair(DEFAULT_ALIAS).artifacts, real_pair, strict=True):
        told, said = artifact.memory, read_header(path).memory(path.stat().st_size)
        assert (told.weights_bytes, told.keys, told.values) == (said.weights_bytes, said.keys, said.values)
        assert (told.n_vocab, told.width, told.inner, told.n_layers) == (
            said.n_vocab,
            said.width,
            said.inner,
            said.n_layers,
        )
