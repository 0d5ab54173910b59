from __future__ import annotations

from pathlib import Path

import platformdirs
import pytest

from specdesk.errors import ModelError
from specdesk.hub.artifacts import Artifact, ModelFile
from specdesk.hub.here import on_disk
from tests.hub.samples import CONTENT, artifact_of, pair_of


def put(artifact: Artifact, content: bytes) -> Path:
    path = on_disk.file_path(artifact, artifact.files[0])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_files_lie_by_owner_and_repository_below_specdesk_home(home: Path) -> None:
    artifact = artifact_of()
    expected = home / "models" / "owner" / "toy" / "toy.gguf"
    assert on_disk.file_path(artifact, artifact.files[0]) == expected


def test_without_specdesk_home_the_platform_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPECDESK_HOME")
    artifact = artifact_of()
    path = on_disk.file_path(artifact, artifact.files[0])
    assert path.is_relative_to(platformdirs.user_data_path("specdesk", appauthor=False))


def test_only_the_full_size_is_present() -> None:
    artifact = artifact_of()
    assert on_disk.missing_files(artifact) == artifact.files
    put(artifact, CONTENT[:-1])
    assert on_disk.missing_files(artifact) == artifact.files
    put(artifact, CONTENT)
    assert on_disk.missing_files(artifact) == ()


def test_looking_creates_nothing(home: Path) -> None:
    assert not on_disk.has_pair(pair_of(artifact_of(name="target"), artifact_of(name="draft")))
    assert not home.exists()


def test_pair_paths_are_the_first_files() -> None:
    target, draft = artifact_of(name="target"), artifact_of(name="draft")
    places = put(target, CONTENT), put(draft, CONTENT)
    pair = pair_of(target, draft)
    assert on_disk.has_pair(pair)
    assert (on_disk.pair_paths(pair).target, on_disk.pair_paths(pair).draft) == places


def test_an_incomplete_pair_says_how_to_get_it() -> None:
    first = artifact_of(name="target")
    second = ModelFile("target-2.gguf", 1, "0" * 64)
    target = Artifact(first.name, first.repo, "main", "MIT", first.shape, (*first.files, second), None)
    put(target, CONTENT)
    with pytest.raises(ModelError, match=r"target-2.gguf and draft.gguf missing") as caught:
        on_disk.pair_paths(pair_of(target, artifact_of(name="draft")))
    assert caught.value.hint == "fetch it with: specdesk download toy-pair"
