"""What tells one model from another."""

from __future__ import annotations

from pathlib import Path

from specdesk.engine.machine import model_identity


def test_models_of_one_size_are_told_apart_by_what_they_hold(tmp_path: Path) -> None:
    one, other, same = tmp_path / "one", tmp_path / "other", tmp_path / "same"
    one.write_bytes(b"GGUF, one")
    other.write_bytes(b"GGUF, two")
    same.write_bytes(b"GGUF, one")
    assert model_identity(one) == model_identity(same) != model_identity(other)
