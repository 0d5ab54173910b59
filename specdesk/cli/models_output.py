"""Models on standard output: tables, and JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.filesize import decimal

from specdesk import paths
from specdesk.cli.tables import print_line, print_table
from specdesk.hub.artifacts import Artifact, Pair
from specdesk.hub.here.inventory import PairState, Presence, Recommended, pair_state, quantization_of
from specdesk.hub.here.local_models import LocalModel
from specdesk.hub.here.unfinished import Unfinished
from specdesk.settings import DEFAULT_N_CTX


def print_shelf(recommended: Recommended, models: Sequence[LocalModel], unfinished: Sequence[Unfinished]) -> None:
    """A table of the pairs, one of the files of each place, why some cannot be loaded, and what has come in part."""
    manifest = recommended.manifest
    print_line("Recommended pairs")
    print_table(
        ("state", "name", "size", "formats", "licence"),
        [_pair_row(pair_state(pair), default=pair.name == manifest.default) for pair in manifest.pairs],
        spare=("formats", "licence"),
    )
    usable = [model for model in models if not model.problem]
    for place in dict.fromkeys([None, *(model.added for model in usable)]):
        lying = [model for model in usable if model.added == place]
        folder = paths.models_dir() if place is None else place
        print_line(f"\nIn the models folder, {folder}" if place is None else f"\nAdded, {folder}")
        columns = ("name", "size", "format", "licence", "pairs", "file")
        rows = [_model_row(model, folder, recommended) for model in lying]
        print_table(columns, rows, spare=("pairs", "licence", "format"))
        if not lying:
            print_line("  no models that can be loaded")
    if broken := [model for model in models if model.problem]:
        print_line("\nCannot be loaded")
        for model in broken:
            print_line(f"  {_known_as(model)} ({decimal(model.size_bytes)}): {model.problem}", hang=4)
    if unfinished:
        print_line("\nUnfinished downloads: the same one goes on, specdesk models remove FILE takes it away")
        parts = [(str(one.path), decimal(one.here_bytes), _pairs(one.path, recommended)) for one in unfinished]
        print_table(("file", "here", "pairs"), parts, spare=("pairs",))


def print_shelf_json(recommended: Recommended, models: Sequence[LocalModel], unfinished: Sequence[Unfinished]) -> None:
    """One object; docs/models.md has its keys."""
    manifest = recommended.manifest
    shelf = {
        "models_dir": str(paths.models_dir()),
        "pairs": [_pair_record(pair_state(pair), default=pair.name == manifest.default) for pair in manifest.pairs],
        "files": [_model_record(model, recommended) for model in models],
        "unfinished": [_unfinished_record(one, recommended) for one in unfinished],
    }
    sys.stdout.write(json.dumps(shelf, allow_nan=False) + "\n")


def _pair_row(state: PairState, *, default: bool) -> Sequence[str]:
    pair = state.pair
    size = decimal(pair.size_bytes)
    if state.presence is Presence.PARTLY:
        size += f", {decimal(pair.size_bytes - state.here_bytes)} to fetch"
    formats = " + ".join(quantization_of(artifact) for artifact in pair.artifacts)
    name = f"{pair.name} (default)" if default else pair.name
    return state.presence, name, size, formats, _licences(pair)


def _model_row(model: LocalModel, folder: Path, recommended: Recommended) -> Sequence[str]:
    quantization = "" if model.header is None else model.header.quantization
    pairs = _pairs(model.path, recommended)
    file = model.path.relative_to(folder) if model.path.is_relative_to(folder) else model.path
    shown = model.path if file == Path() else file
    return model.name, decimal(model.size_bytes), quantization, recommended.licence(model), pairs, str(shown)


def _pairs(path: Path, recommended: Recommended) -> str:
    return ", ".join(pair.name for pair in recommended.pairs(path))


def _known_as(model: LocalModel) -> str:
    return f"{model.called}, {model.path}" if model.called else str(model.path)


def _pair_record(state: PairState, *, default: bool) -> dict[str, Any]:
    pair = state.pair
    return {
        "name": pair.name,
        "default": default,
        "state": state.presence,
        "size_bytes": pair.size_bytes,
        "here_bytes": state.here_bytes,
        "memory_bytes": pair.memory_bytes(DEFAULT_N_CTX),
        "summary": pair.summary,
        "target": _artifact_record(pair.target),
        "draft": _artifact_record(pair.draft),
    }


def _artifact_record(artifact: Artifact) -> dict[str, Any]:
    return {
        "name": artifact.name,
        "repository": artifact.repo,
        "files": [file.path for file in artifact.files],
        "size_bytes": artifact.size_bytes,
        "quantization": quantization_of(artifact),
        "licence": artifact.licence,
    }


def _model_record(model: LocalModel, recommended: Recommended) -> dict[str, Any]:
    header = model.header
    known = None if header is None else header.vocabulary
    return {
        "name": model.name,
        "path": str(model.path),
        "parts": [str(part) for part in model.parts],
        "added": None if model.added is None else str(model.added),
        "size_bytes": model.size_bytes,
        "problem": model.problem or None,
        "architecture": None if header is None else header.architecture,
        "quantization": None if header is None else header.quantization or None,
        "n_ctx_train": None if header is None else header.n_ctx_train or None,
        "vocabulary": None if known is None else {"tokens": known.n_used, "sha256": known.sha256},
        "licence": recommended.licence(model) or None,
        "pairs": [pair.name for pair in recommended.pairs(model.path)],
    }


def _unfinished_record(one: Unfinished, recommended: Recommended) -> dict[str, Any]:
    return {
        "path": str(one.path),
        "part": str(one.part),
        "here_bytes": one.here_bytes,
        "pairs": [pair.name for pair in recommended.pairs(one.path)],
    }


def _licences(pair: Pair) -> str:
    return " + ".join(dict.fromkeys(artifact.licence for artifact in pair.artifacts))
