"""The line on top: which models run, with which settings, on what."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Static

from specdesk.engine.client import EngineInfo
from specdesk.tokenview import visible
from specdesk.tui.chat_options import ChatOptions


class ChatHeader(Horizontal):
    """Names and settings on the left, the engine on the right."""

    def compose(self) -> ComposeResult:
        """The name of the program; the rest comes with the engine."""
        yield Static("specdesk", id="brand", markup=False)
        yield Static(id="models", markup=False)
        yield Static(id="settings", markup=False)
        yield Static(id="engine", markup=False)

    def show(self, info: EngineInfo, options: ChatOptions) -> None:
        """Show what was loaded, and how it will be asked."""
        models = info.target.name
        if info.draft is not None:
            models += f" ⇐ {shortened(info.draft.name, beside=info.target.name)}"
        k = info.lookahead(options.answer_options(0))
        plain = "WITHOUT SPECULATION" if info.why_no_more(k) else "plain"
        lookahead = plain if k == 0 else "K auto" if options.lookahead is None else f"K {k}"
        if info.exact is not None:
            lookahead += "   exact"
        seed = "new each answer" if options.seed is None else str(options.seed)
        self.query_one("#models", Static).update(visible(models))
        self.add_class("-known")
        temperature = f"T {options.sampling.applied_temperature:g}"
        self.query_one("#settings", Static).update(f"{temperature}   {lookahead}   seed {seed}")
        self.query_one("#engine", Static).update(f"{info.library.full_name} {'GPU' if info.on_gpu else 'CPU'}")


def shortened(name: str, *, beside: str) -> str:
    """`name` without the words that stand in `beside` too; whole if nothing would be left."""
    known = set(beside.split())
    return " ".join(word for word in name.split() if word not in known) or name
