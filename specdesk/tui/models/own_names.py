"""Models of recommended pairs by the names that specdesk gives them, whatever their files say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from specdesk.engine.client import EngineInfo, ModelInfo
from specdesk.hub.here.chosen import Chosen
from specdesk.hub.here.on_disk import file_path
from specdesk.hub.manifest import Manifest


def with_own_names(info: EngineInfo, chosen: Chosen, manifest: Manifest) -> EngineInfo:
    """What runs, called so where it lies in the place of a model of a pair and is as large."""
    names = {
        (file_path(artifact, artifact.files[0]), artifact.size_bytes): artifact.name
        for pair in manifest.pairs
        for artifact in pair.artifacts
    }

    def renamed(model: ModelInfo, path: Path) -> ModelInfo:
        # Another file than the one that was chosen is what `specdesk tune` made of it.
        own = names.get((path, model.n_bytes)) if path.name == model.file else None
        return model if own is None else replace(model, name=own)

    target = renamed(info.target, chosen.target)
    if info.draft is None or chosen.draft is None:
        return replace(info, target=target)
    return replace(info, target=target, draft=renamed(info.draft, chosen.draft))
