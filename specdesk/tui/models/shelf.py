"""What the chat needs to know to run other models than those it was started with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from specdesk.hub.artifacts import Pair
from specdesk.hub.download.report import Reporter
from specdesk.hub.here.chosen import Chosen
from specdesk.hub.here.local_models import Library
from specdesk.hub.manifest import Manifest
from specdesk.hub.stopping import Stop
from specdesk.tui.engine_thread import Load


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShelf:
    """Which models there are to choose from, and how they are fetched and loaded."""

    first: Chosen
    """What is loaded at the start; a recommended pair may have to be fetched before."""
    manifest: Manifest
    load_of: Callable[[Chosen], Load]
    fetch: Callable[[Pair, Reporter, Stop], object]
    """Fetches a pair, as `hub.download.fetch` does."""
    here: Library
    """The models of this disk."""
    n_ctx: Callable[[], int]
    """The context that they are loaded with now."""
    may_fetch: bool = True
    note: str = ""
    """What the user should know of the first choice."""
