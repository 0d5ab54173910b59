"""From --pair, --target and --draft to two files on this disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from specdesk.cli.options import EngineOptions, Models
from specdesk.cli.text_files import text_of
from specdesk.core.names import DrafterName
from specdesk.errors import UsageError
from specdesk.settings import EngineSettings


@dataclass(frozen=True, slots=True)
class Chosen:
    """The models a command will load."""

    pair: str | None
    """The name of the recommended pair, if it is one."""
    target: Path
    draft: Path | None


def engine_settings(
    chosen: Chosen,
    options: EngineOptions,
    *,
    lookahead: int | None,
    exact: bool,
    drafter: DrafterName = DrafterName.CASCADE,
    measure: bool = True,
) -> EngineSettings:
    """What to load, and how."""
    return EngineSettings(
        chosen.target,
        chosen.draft,
        options.ctx,
        options.threads,
        options.gpu_layers,
        options.draft_gpu_layers,
        exact,
        lookahead != 0,
        measure,
        drafter is not DrafterName.SUFFIX,
        None if options.chat_template is None else text_of(options.chat_template),
    )


def choose(models: Models) -> Chosen:
    """The files to load; a recommended pair that is absent is fetched first, unless --no-download.

    Raises: UsageError for options that contradict each other or an unknown pair; ModelError for an absent pair that may
    not be fetched; NetworkError or StorageError from fetching.
    """
    if models.target is None:
        if models.draft is not None:
            raise UsageError("--draft needs --target", "or choose both with --pair")
        return _choose_pair(models.pair or "default", no_download=models.no_download)
    if models.pair is not None:
        raise UsageError("--pair and --target exclude each other", "a pair names its target and draft itself")
    return Chosen(None, models.target, models.draft)


def _choose_pair(name: str, *, no_download: bool) -> Chosen:
    # What fetches is loaded only where something is to be fetched: the network libraries take their time.
    from specdesk.hub.manifest import load_manifest
    from specdesk.hub.on_disk import has_pair, pair_paths

    wanted = load_manifest().pair(name)
    if has_pair(wanted) or no_download:
        files = pair_paths(wanted)
    else:
        from specdesk.cli.progress import shell_reporter
        from specdesk.hub.fetch import fetch_pair

        with shell_reporter() as report:
            files = fetch_pair(wanted, report)
    return Chosen(wanted.name, files.target, files.draft)
