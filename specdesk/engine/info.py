"""What runs, and how: what a loaded pair tells of itself."""

from __future__ import annotations

from dataclasses import dataclass

from specdesk.core.costs import PairCosts
from specdesk.engine.cache_settings import Invariance
from specdesk.engine.options import AnswerOptions
from specdesk.engine.tuning.tuned import Tuned
from specdesk.memory import F16, CacheTypes
from specdesk.settings import ANYWHERE, NativeLibrary, Placing


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A loaded model."""

    name: str
    file: str
    n_gpu_layers: int
    """-1: all."""
    n_bytes: int = 0
    """Of its file."""
    head_sha256: str = ""
    """Of the first 16 MiB of its file: metadata, and what decides what is computed."""


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """What runs, and how: the settings as they were honoured."""

    target: ModelInfo
    draft: ModelInfo | None
    n_ctx: int
    n_threads: int
    exact: Invariance | None = None
    """What exact mode found and set; None where it is off."""
    costs: PairCosts | None = None
    """What passes of the pair cost when that was measured; None where nothing is to be drafted."""
    tuned: Tuned | None = None
    """What runs otherwise than given because `specdesk tune` found it faster; None where nothing does."""
    most_drafted: int | None = None
    """The most tokens a draft may have for another reason than exact mode's; None: no limit, 0: nothing is drafted."""
    limit: str = ""
    """That reason, in words."""
    cache: CacheTypes = F16
    """How the target's keys and values are cached."""
    placing: Placing = ANYWHERE
    native: NativeLibrary = NativeLibrary.LLAMA
    """What computes."""

    def lookahead(self, options: AnswerOptions) -> int:
        """At most how many tokens are drafted per pass of an answer: 0 where nothing could draft.

        In exact mode no more than its widest pass holds.
        """
        has_draft, measured = self.draft is not None, self.costs is not None
        most = options.most_drafted(has_draft=has_draft, measured=measured, widest=self.widest)
        return most if self.most_drafted is None else min(most, self.most_drafted)

    def why_no_more(self, lookahead: int) -> str:
        """Why no more than this is drafted, where that is for another reason than exact mode's; empty otherwise."""
        return self.limit if self.most_drafted == lookahead else ""

    @property
    def widest(self) -> int | None:
        """The most tokens a target pass may have; None: no limit."""
        return self.exact.width if self.exact is not None else None

    @property
    def on_gpu(self) -> bool:
        """Whether any layer of either model is on a GPU."""
        return any(model is not None and model.n_gpu_layers != 0 for model in (self.target, self.draft))
