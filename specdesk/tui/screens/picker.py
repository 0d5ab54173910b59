"""Chooses which models run: a recommended pair, or files of this disk as target and draft."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar, Final

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.worker import get_current_worker

from specdesk.core.interrupted import Interrupted
from specdesk.errors import SpecdeskError
from specdesk.hub.here.chosen import Chosen
from specdesk.hub.here.local_models import Library, LocalModel, verdict
from specdesk.tokenview import visible
from specdesk.tui.error_text import error_text
from specdesk.tui.keys import HELP
from specdesk.tui.messages import ModelsFound, PairJudged
from specdesk.tui.models.entries import Entry, named
from specdesk.tui.models.menu import Menu, key_of, matching
from specdesk.tui.screens.ending import end
from specdesk.tui.widgets.key_line import KeyLine
from specdesk.tui.widgets.model_list import ModelList

_EACH_S: Final = 0.1
"""How often what is found on the disk is shown."""


class PickerScreen(ModalScreen[Chosen | None]):
    """Lists what there is. The result may have to be fetched first; None if the user leaves everything as it is."""

    CSS_PATH = "picker.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (80, "-wide")]  # noqa: RUF012 — Textual declares it so
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "point('cursor_up')", id="picker.up", tooltip="The entry above.", show=False),
        Binding("down", "point('cursor_down')", id="picker.down", tooltip="The entry below.", show=False),
        Binding("pageup", "point('page_up')", id="picker.page_up", tooltip="A page up.", show=False),
        Binding("pagedown", "point('page_down')", id="picker.page_down", tooltip="A page down.", show=False),
        Binding("escape", "leave", "Back", id="picker.leave", tooltip="Go back; the models stay as they are."),
        HELP,
        Binding("ctrl+c", "app.quit", id="picker.quit", tooltip="Leave specdesk.", show=False, priority=True),
    ]

    def __init__(
        self, menu: Menu, library: Library, *, at: Chosen | None = None, failure: SpecdeskError | None = None
    ) -> None:
        """`at` is what to point at first, `failure` why the last choice did not load."""
        super().__init__()
        self._menu = menu
        self._library = library
        self._at = key_of(at)
        self._failure = failure
        self._target: LocalModel | None = None
        self._refused: str | None = None
        self._n_found = 0

    def compose(self) -> ComposeResult:
        """Title, filter, list, and what there is to say of the entry that is pointed at."""
        with Vertical():
            yield Static(id="title", markup=False)
            yield Static(id="failure", markup=False)
            yield Input(placeholder="Type to filter", compact=True)
            yield ModelList()
            yield Static(id="details", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        """Show what is known, and look for more."""
        self.query_one(Input).focus()
        self._say_failure("" if self._failure is None else error_text(self._failure))
        self._show()
        self.query_one(ModelList).border_subtitle = "looking …"
        self._scan()

    # --- finding out

    @work(thread=True, group="scan", exclusive=True)
    def _scan(self) -> None:
        found: list[LocalModel] = []
        shown_s = time.monotonic()
        try:
            for model in self._library.models(get_current_worker().cancelled_event):
                found.append(model)
                if time.monotonic() - shown_s >= _EACH_S:
                    self.post_message(ModelsFound(tuple(found), done=False))
                    found.clear()
                    shown_s = time.monotonic()
        except Interrupted:
            return
        self.post_message(ModelsFound(tuple(found), done=True))

    @work(thread=True, group="judge", exclusive=True)
    def _judge(self, target: LocalModel, drafts: Sequence[LocalModel]) -> None:
        cancelled = get_current_worker().cancelled_event
        for draft in drafts:
            if cancelled.is_set():
                return
            self.post_message(PairJudged(target, draft, verdict(target, draft)))

    def on_models_found(self, message: ModelsFound) -> None:
        """List them too."""
        message.stop()
        self._menu.add(message.models)
        self._n_found += len(message.models)
        self.query_one(ModelList).border_subtitle = "" if message.done else f"looking … {self._n_found} files"
        self._show()
        self._judge_drafts()

    def on_pair_judged(self, message: PairJudged) -> None:
        """Say it."""
        message.stop()
        self._menu.know(message.target, message.draft, message.verdict)
        self._show()
        refused = self.query_one(ModelList).entry(self._refused)
        if refused is not None and self._target is message.target:
            self._say_failure(f"not loaded: {refused.refusal}" if refused.refusal else "")

    # --- choosing

    @on(Input.Changed)
    def filter(self) -> None:
        """List what holds the text."""
        self._show()

    @on(Input.Submitted)
    def take_pointed(self) -> None:
        """Take what is pointed at."""
        entry = self.query_one(ModelList).pointed
        if entry is not None:
            self._take(entry)

    @on(OptionList.OptionSelected)
    def take_clicked(self, event: OptionList.OptionSelected) -> None:
        """Take what was clicked."""
        entry = self.query_one(ModelList).entry(event.option.id)
        if entry is not None:
            self._take(entry)

    @on(OptionList.OptionHighlighted)
    def tell(self, event: OptionList.OptionHighlighted) -> None:
        """Tell more of an entry."""
        entry = self.query_one(ModelList).entry(event.option.id)
        if entry is None:
            return
        self.query_one("#details", Static).update(visible(entry.details))
        self._show_keys()

    def action_point(self, where: str) -> None:
        """Move in the list, while the filter keeps the focus."""
        self._at = None
        getattr(self.query_one(ModelList), f"action_{where}")()

    def action_leave(self) -> None:
        """Give up the filter, then the target, then everything."""
        filtered = self.query_one(Input)
        if filtered.value:
            filtered.clear()
        elif self._target is not None:
            self._at = f"file {self._target.path}"
            self._target = self._refused = None
            self._say_failure("")
            self._show()
        else:
            end(self, None)

    def _take(self, entry: Entry) -> None:
        if entry.refusal:
            self._refused = entry.key
            self._say_failure(f"not loaded: {entry.refusal}")
        elif entry.chosen is not None:
            end(self, entry.chosen)
        elif entry.model is not None:
            self._target = entry.model
            self._refused = None
            self._at = "no draft"
            self._say_failure("")
            self.query_one(Input).clear()
            self._show()
            self._judge_drafts()

    def _judge_drafts(self) -> None:
        if self._target is not None and (drafts := self._menu.unjudged(self._target)):
            self._judge(self._target, drafts)

    # --- showing

    def _show(self) -> None:
        target = self._target
        sections = self._menu.targets() if target is None else self._menu.drafts(target)
        self.query_one("#title", Static).update(visible("Models" if target is None else _draft_for(target)))
        listed = matching(sections, self.query_one(Input).value)
        models = self.query_one(ModelList)
        current = key_of(self._menu.running) if target is None else None
        models.show(listed, at=self._at, current=current, free=self._menu.free)
        if models.pointed is None:
            self.query_one("#details", Static).update("nothing holds that text")
        self._show_keys()

    def _show_keys(self) -> None:
        """What Enter does depends on what is pointed at."""
        entry = self.query_one(ModelList).pointed
        if entry is not None and entry.refusal:
            enter = "Enter says why it is not loaded"
        elif entry is None or entry.chosen is None:
            enter = "Enter chooses"
        else:
            enter = "Enter goes to its download" if entry.absent else "Enter loads it"
        leave = "Esc changes nothing" if self._target is None else "Esc goes back"
        self.query_one(KeyLine).show(f"↑↓ move · {enter} · {leave} · F1 help")

    def _say_failure(self, text: str) -> None:
        shown = self.query_one("#failure", Static)
        shown.update(visible(text))
        shown.display = bool(text)


def _draft_for(target: LocalModel) -> str:
    """What is asked for; the file is named too, since several may be called alike."""
    name = named(target)
    return f"A draft for {name}" if target.file_name == name else f"A draft for {name} · {target.file_name}"
