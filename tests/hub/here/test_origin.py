from __future__ import annotations

import os
from pathlib import Path

import pytest

from specdesk.hub.here.origin import Origin, forget_origin, keep_origin, note_of, origin_of

ORIGIN = Origin("hf:owner/toy/toy.gguf", "a" * 64, "v1", "0" * 40)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "toy.gguf"
    path.write_bytes(b"GGUF")
    return path


def test_what_is_kept_is_remembered_until_it_is_forgotten(file: Path) -> None:
    assert origin_of(file) is None
    keep_origin(file, ORIGIN)
    assert origin_of(file) == ORIGIN
    forget_origin(file)
    assert origin_of(file) is None
    assert list(file.parent.glob("*toy*")) == [file]


def test_a_file_that_was_changed_since_is_another_one(file: Path) -> None:
    keep_origin(file, ORIGIN)
    later_s = file.stat().st_mtime + 5
    os.utime(file, (later_s, later_s))
    assert origin_of(file) is None


def test_a_change_of_the_same_moment_is_one(file: Path) -> None:
    keep_origin(file, ORIGIN)
    file.write_bytes(b"GGU?")
    assert origin_of(file) is None


def test_what_was_downloaded_is_remembered_of_a_changed_file_too(file: Path) -> None:
    keep_origin(file, ORIGIN)
    note = note_of(file)
    assert note is not None
    assert (note.origin, note.size_bytes, note.unchanged) == (ORIGIN, 4, True)
    file.write_bytes(b"GG")
    note = note_of(file)
    assert note is not None
    assert (note.origin, note.size_bytes, note.unchanged) == (ORIGIN, 4, False)


def test_a_record_that_notes_no_size_is_believed_of_files_that_are_not_younger(file: Path) -> None:
    fields = '"source":"hf:owner/toy/toy.gguf","version":"","revision":null,"commit":null'
    (file.parent / ".toy.gguf.origin.json").write_text(f"{{{fields}}}")
    assert origin_of(file) == Origin("hf:owner/toy/toy.gguf", "", None, None)
    later_s = file.stat().st_mtime + 5
    os.utime(file, (later_s, later_s))
    assert origin_of(file) is None


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"source": 7}', "[" * 10_000])
def test_a_damaged_record_counts_as_none(file: Path, text: str) -> None:
    (file.parent / ".toy.gguf.origin.json").write_text(text)
    assert origin_of(file) is None


def test_a_link_in_its_place_is_not_written_through(file: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"precious")
    (tmp_path / ".toy.gguf.origin.json").symlink_to(elsewhere)
    keep_origin(file, ORIGIN)
    assert elsewhere.read_bytes() == b"precious"
    assert origin_of(file) == ORIGIN
