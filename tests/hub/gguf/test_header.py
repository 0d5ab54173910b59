"""What is read of a GGUF file, and what is said of one that cannot be."""

from __future__ import annotations

import os
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from gguf import GGML_QUANT_SIZES, LlamaFileType

from specdesk.errors import ModelError
from specdesk.hub.gguf.file_types import FILE_TYPES
from specdesk.hub.gguf.header import read_header, read_tokens
from specdesk.hub.gguf.values import _AHEAD
from specdesk.hub.gguf.weight_sizes import SIZES
from specdesk.memory import ModelSize
from tests.tiny import gguf_models
from tests.tiny.gguf_stubs import WORDS, write_stub


def refusal(path: Path) -> str:
    with pytest.raises(ModelError) as caught:
        read_header(path)
    return caught.value.message


def test_a_header_is_read(tmp_path: Path) -> None:
    header = read_header(write_stub(tmp_path / "a.gguf", "A [b + 1 Model"))
    assert header.architecture == "llama"
    assert header.name == "A [b + 1 Model"
    assert header.purpose == "model"
    assert header.quantization == "Q4_K_M"
    assert header.n_ctx_train == 4096
    assert header.n_parts == 1
    assert header.vocabulary is not None
    assert header.vocabulary.n_used == len(WORDS)


def test_every_format_has_llama_cpps_name() -> None:
    names = {kind.value: kind.name.removeprefix("MOSTLY_").removeprefix("ALL_") for kind in LlamaFileType}
    del names[LlamaFileType.GUESSED.value]
    assert names == FILE_TYPES


def test_numbers_beyond_all_machines_are_damage(tmp_path: Path) -> None:
    """They would fit into no record of it either."""
    path = write_stub(tmp_path / "a.gguf", n_layer=2**32 - 1, n_head_kv=2**32 - 1, key_length=2**32 - 1)
    assert refusal(path) == "it is damaged: it claims more bytes than there are on any machine"


@pytest.mark.parametrize(
    ("n_head", "n_head_kv", "key_length", "expected"),
    [
        (8, 2, None, 3 * 2 * 8),
        (8, None, None, 3 * 8 * 8),
        (8, 2, 32, 3 * 2 * 32),
        (8, [1, 2, 0], None, 3 * 8),
        (0, None, None, 0),
    ],
    ids=["grouped", "all heads", "wider heads", "a layer each", "no attention"],
)
def test_the_cache_is_counted_by_layers_heads_and_widths(
    tmp_path: Path, n_head: int, n_head_kv: int | None, key_length: int | None, expected: int
) -> None:
    path = write_stub(tmp_path / "a.gguf", n_head=n_head, n_head_kv=n_head_kv, key_length=key_length)
    header = read_header(path)
    assert (header.keys, header.values) == (expected, expected)


def test_what_else_decides_the_memory_is_read(tmp_path: Path) -> None:
    size = read_header(write_stub(tmp_path / "a.gguf", n_padding=2, n_inner=[128, 256])).memory(1000)
    assert size == ModelSize(1000, 3 * 2 * 8, 3 * 2 * 8, len(WORDS) + 2, 64, 256, n_layers=3, n_ctx_train=4096)


def test_vocabularies_are_told_apart_by_their_texts_and_not_by_padding(tmp_path: Path) -> None:
    def vocabulary(name: str, **changes: object) -> object:
        return read_header(write_stub(tmp_path / name, **changes)).vocabulary  # type: ignore[arg-type]

    plain = vocabulary("plain.gguf")
    assert vocabulary("padded.gguf", n_padding=7) == plain
    assert vocabulary("other.gguf", words=[*WORDS[:-1], "d"]) != plain
    assert vocabulary("joined.gguf", words=[*WORDS[:-3], "ab", "", "c"]) != plain
    assert vocabulary("none.gguf", words=[]) is None


def test_a_long_vocabulary_is_read_across_the_blocks_of_the_file(tmp_path: Path) -> None:
    words = [f"{'x' * (i % 50)}{i}" for i in range(9000)]
    words[4000] = "long" * _AHEAD
    path = write_stub(tmp_path / "a.gguf", words=words)
    vocabulary, template = read_tokens(path)
    assert [vocabulary.text(i).decode() for i in range(vocabulary.n_used)] == words
    assert read_header(path).quantization == "Q4_K_M", "and what stands behind it"
    assert template == "{{ messages }}"


def test_every_way_to_be_cut_off_is_said(tmp_path: Path) -> None:
    whole = write_stub(tmp_path / "whole.gguf").read_bytes()
    path = tmp_path / "cut.gguf"
    for length in range(4, len(whole), 7):
        path.write_bytes(whole[:length])
        assert refusal(path) == "it is cut off inside its header, or damaged"


def entry(key: bytes, kind: int, rest: bytes) -> bytes:
    return struct.pack("<Q", len(key)) + key + struct.pack("<I", kind) + rest


def header_of(entries: bytes, *, n: int = 1, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, 0, n) + entries


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it is not a GGUF file"),
        (b"no model at all", "it is not a GGUF file"),
        (header_of(b"", n=0, version=1), "it is of GGUF version 1, which llama.cpp no longer reads"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "it is a big-endian GGUF file, which cannot be loaded"),
        (header_of(b"", n=2**63), "it is damaged: it claims to hold"),
        (header_of(entry(b"a", 99, b"")), "it is damaged: a value in it is of kind 99"),
        (header_of(entry(b"a", 9, struct.pack("<IQ", 9, 1))), "it is damaged: it holds arrays of arrays"),
        (header_of(entry(b"a", 8, struct.pack("<Q", 2**62))), "it is cut off"),
        (header_of(entry(b"a", 9, struct.pack("<IQ", 8, 2**62))), "it is cut off"),
        (header_of(entry(b"a", 9, struct.pack("<IQ", 5, 2**62))), "it is cut off"),
        (header_of(entry(b"tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, 2**62))), "it is cut off"),
    ],
)
def test_damage_is_named_without_reading_what_it_claims(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "damaged.gguf"
    path.write_bytes(content)
    assert refusal(path).startswith(said)


def test_values_of_an_unexpected_kind_count_as_not_there(tmp_path: Path) -> None:
    number_as_name = entry(b"general.name", 4, struct.pack("<I", 7))
    text_as_number = entry(b"general.file_type", 8, struct.pack("<Q", 2) + b"\xff\xfe")
    path = tmp_path / "odd.gguf"
    path.write_bytes(header_of(number_as_name + text_as_number, n=2))
    header = read_header(path)
    assert (header.name, header.quantization, header.architecture, header.keys) == ("", "", "", 0)


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    assert refusal(tmp_path / "pipe.gguf") == "it is no regular file"
    assert refusal(tmp_path) == "it is no regular file"
    assert refusal(tmp_path / "gone.gguf") == "there is no such file"


def test_experts_count_as_far_as_a_token_uses_them(tmp_path: Path) -> None:
    """Of the tiny model's weights, those of two of its four experts lie idle."""
    header = read_header(gguf_models.write(tmp_path / "moe.gguf", replace(gguf_models.TARGET, n_experts=4)))
    assert header.n_experts == 4
    experts = gguf_models.N_LAYER * 4 * 3 * gguf_models.N_EMBD * gguf_models.N_FF
    total = sum(weights.size for weights in gguf_models.tensors(replace(gguf_models.TARGET, n_experts=4)).values())
    assert header.active_part == pytest.approx(1 - experts / 2 / total)
    dense = read_header(gguf_models.write(tmp_path / "dense.gguf", gguf_models.TARGET))
    assert (dense.n_experts, dense.active_part, dense.recurrent, dense.window) == (0, 1.0, False, 0)


def test_more_tensors_than_there_can_be_are_damage(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 2**40, 0))
    assert refusal(path).startswith("it is damaged: it claims to hold 1,099,511,627,776 tensors")
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + struct.pack("<Q1sI", 1, b"a", 99))
    assert refusal(path).startswith("it is damaged: a tensor in it has 99 dimensions")


def test_every_type_of_weights_has_ggmls_size() -> None:
    known = {kind.value: tuple(sizes) for kind, sizes in GGML_QUANT_SIZES.items()}
    assert SIZES.items() <= known.items()


@pytest.mark.parametrize("alignment", [None, 1, 64])
def test_weights_that_are_cut_off_are_missed_to_the_last_byte(tmp_path: Path, alignment: int | None) -> None:
    """As a copy or another app's download leaves a file that ended early."""
    path = write_stub(tmp_path / "a.gguf", tensors={"a": (64, 2), "b": (32, 3)}, alignment=alignment)
    whole = path.read_bytes()
    read_header(path)
    path.write_bytes(whole + b"more")
    read_header(path)
    path.write_bytes(whole[:-1])
    assert refusal(path) == f"it is cut off: it has {len(whole) - 1:,} of {len(whole):,} bytes"


def test_of_a_type_that_is_not_known_there_has_to_be_something(tmp_path: Path) -> None:
    path = write_stub(tmp_path / "a.gguf", tensors={"a": (64, 2)})
    known = struct.pack("<IQQI", 2, 64, 2, 0)
    whole = path.read_bytes()
    assert whole.count(known) == 1
    path.write_bytes(whole.replace(known, struct.pack("<IQQI", 2, 64, 2, 99))[: -64 * 2 * 4 + 1])
    read_header(path)
    path.write_bytes(path.read_bytes()[:-1])
    assert "it is cut off" in refusal(path)
