"""Can anything be downloaded from the hub now?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from specdesk.hub.artifacts import Artifact
from specdesk.hub.endpoint import environment_problem
from specdesk.hub.sources.offline import is_offline

_PATIENCE_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Reach:
    """What came of asking."""

    hub: str
    """The host that was asked."""
    problem: str
    """Why nothing can be had, as a sentence; empty where something can."""
    closed: bool = False
    """Whether the environment keeps other sources from being asked in its place, too."""


def reach_hub(artifact: Artifact) -> Reach:
    """Ask for the beginning of the artifact's first file, as a download would, and take no more than its first bytes.

    Takes up to twice 5 seconds where nothing answers. Nothing is written.
    """
    if unusable := environment_problem():
        return Reach("the hub", unusable, closed=True)
    # Loaded here, so that whoever only wants the record waits for no network library.
    from specdesk.hub.sources.hub import HubSource
    from specdesk.hub.sources.source import SourceError

    source = HubSource(artifact, answer_s=_PATIENCE_S, stall_s=_PATIENCE_S)
    if is_offline():
        return Reach(source.name, "HF_HUB_OFFLINE is set", closed=True)
    body = source.chunks(artifact.files[0], 0)
    try:
        next(body, b"")
    except SourceError as error:
        return Reach(source.name, str(error))
    finally:
        body.close()
    return Reach(source.name, "")
