"""What is asked of whom, and how, above two answers to it."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from specdesk.engine.client import EngineInfo
from specdesk.tokenview import visible
from specdesk.tui.conversation import Request
from specdesk.tui.widgets.header import shortened


class Asked(Vertical):
    """The models and the settings of both answers on a line, the question on another."""

    def __init__(self, request: Request, info: EngineInfo) -> None:
        super().__init__()
        self._request = request
        self._info = info

    def compose(self) -> ComposeResult:
        """Both lines."""
        yield Static(visible(self._settings), id="settings", markup=False)
        yield Static(visible(" ".join(self._request.messages[-1].content.split())), id="asked", markup=False)

    @property
    def _settings(self) -> str:
        options, info = self._request.options, self._info
        names = info.target.name
        if info.draft is not None:
            names += f" ⇐ {shortened(info.draft.name, beside=names)}"
        parts = [
            "A/B",
            names,
            f"T {options.sampling.applied_temperature:g}",
            f"K 0 and {'auto' if options.lookahead is None else options.lookahead}",
            f"seed {options.seed} for both",
            options.verify.value,
            "" if info.exact is None else "exact",
        ]
        return "   ".join(filter(None, parts))
