"""Files of LM Studio, Ollama and the Hugging Face cache, used in place."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from huggingface_hub import constants

from specdesk.hub.here.added import add
from specdesk.hub.here.local_models import LocalModel, library_here
from specdesk.hub.here.other_apps import App, places, places_there
from tests.tiny.gguf_stubs import write_stub

REGISTRY = "registry.ollama.ai"


def ollama_blob(models: Path, content: bytes) -> Path:
    """Put a blob where Ollama does."""
    blob = models / "blobs" / f"sha256-{hashlib.sha256(content).hexdigest()}"
    blob.parent.mkdir(parents=True, exist_ok=True)
    blob.write_bytes(content)
    return blob


def ollama_manifest(models: Path, name: str, **layers: Path) -> Path:
    """Name blobs, each the layer of that kind."""
    manifest = models / "manifests" / name
    manifest.parent.mkdir(parents=True, exist_ok=True)
    described = [
        {"mediaType": f"application/vnd.ollama.image.{kind}", "digest": blob.name.replace("-", ":"), "size": 1}
        for kind, blob in layers.items()
    ]
    manifest.write_text(json.dumps({"schemaVersion": 2, "config": {"digest": "sha256:0"}, "layers": described}))
    return manifest


def stub_bytes(tmp_path: Path, name: str, architecture: str = "llama", purpose: str = "model") -> bytes:
    return write_stub(tmp_path / "stub", name, architecture=architecture, purpose=purpose).read_bytes()


def listed() -> list[LocalModel]:
    return list(library_here().models())


@pytest.fixture
def ollama(tmp_path: Path) -> Path:
    """Two models, one with a projector and one of somebody's own, and what else lies among blobs."""
    models = tmp_path / "ollama" / "models"
    model = ollama_blob(models, stub_bytes(tmp_path, "Qwen"))
    projector = ollama_blob(models, stub_bytes(tmp_path, "Eyes", "clip", "mmproj"))
    licence = ollama_blob(models, b"Apache License")
    (models / "blobs" / f"sha256-{'0' * 64}-partial-0").write_bytes(b"GGUF")
    ollama_manifest(models, f"{REGISTRY}/library/qwen2.5-coder/1.5b", model=model, license=licence)
    ollama_manifest(models, f"{REGISTRY}/somebody/mine/latest", model=model, projector=projector)
    ollama_manifest(models, "hf.co/owner/Repo-GGUF/Q4_K_M", model=model)
    return models


def test_blobs_are_called_as_ollama_calls_them(ollama: Path) -> None:
    add(ollama)
    found = {model.name: model for model in listed()}
    qwen = "hf.co/owner/Repo-GGUF:Q4_K_M, qwen2.5-coder:1.5b, somebody/mine:latest"
    assert set(found) == {qwen, "somebody/mine:latest (projector)"}
    assert (found[qwen].problem, found[qwen].path.parent) == ("", ollama / "blobs")
    assert found["somebody/mine:latest (projector)"].problem.startswith("it is no language model")


def test_one_blob_can_be_added(ollama: Path) -> None:
    (blob,) = (path for path in (ollama / "blobs").iterdir() if b"Qwen" in path.read_bytes())
    add(blob)
    (model,) = listed()
    assert (model.path, model.problem) == (blob, "")
    assert "qwen2.5-coder:1.5b" in model.file_name


@pytest.mark.parametrize("damage", [b"", b"[", b'{"layers": 3}', b"\xff", b"[" * 100_000, b" " * 2_000_000])
def test_a_manifest_that_cannot_be_read_names_nothing(damage: bytes, tmp_path: Path) -> None:
    blob = ollama_blob(tmp_path, stub_bytes(tmp_path, "Own name"))
    ollama_manifest(tmp_path, f"{REGISTRY}/library/x/latest", model=blob).write_bytes(damage)
    add(blob)
    assert [model.name for model in listed()] == ["Own name"]


def test_where_ollama_keeps_models(own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert own_home / ".ollama" / "models" in places(App.OLLAMA)
    assert Path("/usr/share/ollama/.ollama/models") in places(App.OLLAMA)
    monkeypatch.setenv("OLLAMA_MODELS", str(tmp_path / "disk"))
    (tmp_path / "disk").mkdir()
    assert places_there(App.OLLAMA)[0] == tmp_path / "disk"


def test_where_lm_studio_keeps_models(own_home: Path, tmp_path: Path) -> None:
    new, old = own_home / ".lmstudio" / "models", own_home / ".cache" / "lm-studio" / "models"
    assert places(App.LM_STUDIO) == (new, old)
    (own_home / ".lmstudio-home-pointer").write_text(f"{tmp_path / 'lms'}\n")
    (tmp_path / "lms").mkdir()
    (tmp_path / "lms" / "settings.json").write_text(json.dumps({"downloadsFolder": str(tmp_path / "big"), "x": 1}))
    assert places(App.LM_STUDIO) == (tmp_path / "big", tmp_path / "lms" / "models", new, old)
    assert places_there(App.LM_STUDIO) == ()
    old.mkdir(parents=True)
    assert places_there(App.LM_STUDIO) == (old,)


@pytest.mark.parametrize("damage", [b"{", b"\xff", b'{"downloadsFolder": 3}', b"[" * 100_000])
def test_settings_of_lm_studio_that_cannot_be_read_say_nothing(damage: bytes, own_home: Path) -> None:
    (own_home / ".lmstudio").mkdir()
    (own_home / ".lmstudio" / "settings.json").write_bytes(damage)
    assert places(App.LM_STUDIO)[0] == own_home / ".lmstudio" / "models"


def test_the_hub_cache_is_where_its_library_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files there are links to blobs that are named by their hash; names that a repository lacks are empty files."""
    cache = tmp_path / "hub"
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    repository = cache / "models--owner--repo"
    blob = write_stub(repository / "blobs" / ("a" * 64))
    for revision in ("old", "new"):
        (repository / "snapshots" / revision).mkdir(parents=True)
        (repository / "snapshots" / revision / "m.gguf").symlink_to(blob)
    lacking = repository / ".no_exist" / "new" / "other.gguf"
    lacking.parent.mkdir(parents=True)
    lacking.touch()
    assert places_there(App.HUB_CACHE) == (cache,)
    add(cache)
    assert [(model.path, model.problem) for model in listed()] == [(repository / "snapshots" / "new" / "m.gguf", "")]
