"""`specdesk pair`: may these two models speculate together?"""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specdesk.errors import ModelError, UsageError

if TYPE_CHECKING:
    from specdesk.hub.here.local_models import LocalModel


def pair(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET", help="A GGUF file, or a model as specdesk models calls it; or, alone, a pair."
        ),
    ],
    draft: Annotated[Path | None, typer.Argument(metavar="DRAFT", help="Likewise.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the sentence.")] = False,
) -> int:
    """Say whether a draft fits a target, and why not. Only the headers of the files are read; nothing is loaded.

    Every load judges again by the same rules, and tries what only loading can tell: whether what was rejected can be
    taken out of the caches again, and whether everything fits in memory.

    Exit codes: 0 usable, 2 usage, 3 refused, or a file that cannot be loaded, 5 storage.
    """
    # Loaded here, so that `specdesk --help` waits for none of them.
    from specdesk.hub.here.local_models import verdict

    one, other = (_model(path) for path in _paths(target, draft))
    found = verdict(one, other)
    # A refusal is settled: no load is needed to tell more.
    models = (("target", one), ("draft", other)) if found.usable else ()
    unsettled = [line for role, model in models for line in _unsettled(role, model)]
    if as_json:
        judged = asdict(found)
        del judged["why"]
        judged["sentence"] = found.sentence
        said = {"target": str(one.path), "draft": str(other.path), **judged, "settled_by_loading": unsettled}
        print(json.dumps(said))  # noqa: T201
    else:
        typer.echo(found.sentence)
        for line in (*found.notes, *unsettled):
            typer.echo(f"  {line}")
    return 0 if found.usable else ModelError.exit_code


def _paths(target: str, draft: Path | None) -> tuple[Path, Path]:
    from specdesk.hub.here.naming import file_meant
    from specdesk.hub.here.on_disk import pair_paths
    from specdesk.hub.manifest import load_manifest

    manifest = load_manifest()
    if draft is not None:
        if manifest.find(target) is not None and not Path(target).exists():
            raise UsageError(f"{target} is a pair, which has a draft of its own", "leave out the draft, or name a file")
        return file_meant(Path(target)), file_meant(draft)
    if manifest.find(target) is None and (Path(target).exists() or target.lower().endswith(".gguf")):
        raise UsageError("a draft is missing", f"specdesk pair {shlex.quote(target)} DRAFT")
    files = pair_paths(manifest.pair(target))
    return files.target, files.draft


def _model(path: Path) -> LocalModel:
    """Raises ModelError for a file that cannot be loaded."""
    from specdesk.hub.here.local_models import look_at

    model = look_at(path)
    if model.problem:
        raise ModelError(f"{path} cannot be loaded: {model.problem}")
    return model


def _unsettled(role: str, model: LocalModel) -> list[str]:
    """What the header does not tell of a cache."""
    header = model.header
    if header is None:
        return []
    said = []
    if header.recurrent:
        said.append(f"the {role} is recurrent ({header.architecture}): loading tries whether its state can be cut back")
    if header.window:
        looks = f"some layers of the {role} look back {header.window:,} tokens (sliding window)"
        said.append(f"{looks}: the whole text is kept for them, and every cut is checked")
    return said
