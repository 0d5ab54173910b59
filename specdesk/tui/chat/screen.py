"""The chat: one conversation, its answers as they are decoded, and what speculation brings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import Screen

from specdesk.core.events import Finished
from specdesk.engine.client import EngineInfo
from specdesk.errors import SpecdeskError
from specdesk.store.chat_store import ChatStore
from specdesk.tokenview import Span, visible
from specdesk.tui.chat.adjusting import Adjusting
from specdesk.tui.chat.bookshelf import Bookshelf
from specdesk.tui.chat.chat_acts import ChatActs
from specdesk.tui.chat.composer import Composer
from specdesk.tui.chat.desk import Desk
from specdesk.tui.chat.excursions import Excursions
from specdesk.tui.chat.interrupt import Meaning
from specdesk.tui.chat.showing import Showing
from specdesk.tui.chat.state import State
from specdesk.tui.chat.turn_acts import TurnActs
from specdesk.tui.chat_options import ChatOptions
from specdesk.tui.engine_thread import EngineThread, Load
from specdesk.tui.figures import Figures
from specdesk.tui.keys import HELP, MODELS
from specdesk.tui.messages import (
    AnswerFailed,
    EngineCrashed,
    EngineEvent,
    EngineLoaded,
    EngineLost,
    EngineNotice,
    EngineProgress,
    EngineReloading,
    LoadFailed,
)
from specdesk.tui.screens.text_entry import TextEntry
from specdesk.tui.setup import Setup
from specdesk.tui.terminal.copying import TextCopied
from specdesk.tui.widgets.chats import Chats
from specdesk.tui.widgets.header import ChatHeader
from specdesk.tui.widgets.keys import Keys
from specdesk.tui.widgets.prompt import Prompt
from specdesk.tui.widgets.speed import SpeedPanel, SpeedStrip
from specdesk.tui.widgets.token_view import TokenView
from specdesk.tui.widgets.transcript import Transcript
from specdesk.tui.widgets.turn import CAN_UNDO, Act, Turn
from specdesk.tui.widgets.turns import Failure, Notice

_WIDE: Final = 80
"""Columns from which there is room for something beside the conversation."""
_ROOMY: Final = 120
"""Columns from which there is room for the list of chats too."""
_HIGH: Final = 40
"""Rows from which there is room for all figures and the whole legend."""


class ChatScreen(Screen[None]):
    """Shows the engine's messages and sends it questions."""

    CSS_PATH = "screen.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (_WIDE, "-wide"), (_ROOMY, "-roomy")]  # noqa: RUF012 — Textual declares it so
    VERTICAL_BREAKPOINTS = [(0, "-low"), (_HIGH, "-high")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+l", "reload", "Reload", id="chat.reload", tooltip="Load the models again."),
        Binding("escape", "stop", "Stop", id="chat.stop", tooltip="End the answer here and keep what is there."),
        Binding(
            "ctrl+c",
            "interrupt",
            id="chat.interrupt",
            tooltip="Copy what is selected, else end the answer, clear the prompt, leave.",
            show=False,
            priority=True,
        ),
        Binding("escape", "withdraw", "Not later", id="chat.withdraw", tooltip="Do not send the question later."),
        Binding("escape", "leave_edit", "Leave", id="chat.leave_edit", tooltip="Leave the question that is edited."),
        HELP,
        Binding("ctrl+s", "settings", "Settings", id="chat.settings", tooltip="Set how answers are made; it is kept."),
        MODELS,
        Binding("ctrl+t", "toggle_view", "Tokens", id="chat.view", tooltip="Show answers as tokens, or as Markdown."),
        Binding(
            "ctrl+g",
            "toggle_rejected",
            "Rejected",
            id="chat.rejected",
            tooltip="Show or hide rejected draft tokens.",
            show=False,
        ),
        Binding("ctrl+r", "again", "Again", id="chat.again", tooltip="Have the last question answered again."),
        Binding("f4", "copy_answer", "Copy", id="chat.copy", tooltip="Copy the last answer."),
        Binding("ctrl+n", "new_chat", "New chat", id="chat.new", tooltip="Begin another conversation."),
        Binding("ctrl+b", "toggle_chats", "Chats", id="chat.chats", tooltip="Show or hide the list of chats."),
        Binding("ctrl+f", "search", "Search", id="chat.search", tooltip="Search all chats.", show=False),
        Binding(
            "f3", "compare", "A/B", id="chat.compare", tooltip="Answer it plainly and with speculation, side by side."
        ),
        Binding("f9", "undo", "Undo", id="chat.undo", tooltip="Bring back what was deleted last.", show=False),
        Binding("f5", "export", "Export", id="chat.export", tooltip="Write the chat into a file.", show=False),
        Binding("f8", "import", "Import", id="chat.import", tooltip="Bring in a chat from a file.", show=False),
        Binding("pageup", "scroll(-1)", id="chat.page_up", tooltip="Scroll up.", show=False, priority=True),
        Binding("pagedown", "scroll(1)", id="chat.page_down", tooltip="Scroll down.", show=False, priority=True),
    ]

    def __init__(self, engine: EngineThread, store: ChatStore, setup: Setup) -> None:
        super().__init__()
        self._engine = engine
        self._setup = setup
        self._narrow: bool | None = None
        """Whether the list of chats is shown as chosen where there is no room for it; None before the first layout."""
        self._showing = Showing(setup)
        self._desk = Desk(self, engine, store, setup, self._showing)
        self._composer = Composer(self.refresh_bindings)
        self._bookshelf = Bookshelf(self, store)
        self._excursions = Excursions(self, self._go, engine, store, self._desk, setup)
        self._adjusting = Adjusting(self, self._go, self._desk, setup, self._showing)
        self._chat_acts = ChatActs(self, self._desk, self._composer, self._bookshelf)
        self._turn_acts = TurnActs(self, self._desk, self._composer, self._bookshelf, self._chat_acts)

    def compose(self) -> ComposeResult:
        """Header, chats beside the conversation and the speed panel, prompt, keys."""
        yield ChatHeader()
        with Horizontal(id="body"):
            yield Chats()
            yield Transcript(State.LOADING.value)
            yield SpeedPanel()
        yield SpeedStrip()
        yield Prompt()
        yield Keys()

    def on_mount(self) -> None:
        """Ready to be written in, before there is an engine."""
        self._desk.lay(self._transcript)
        self._showing.lay(self._transcript)
        self._bookshelf.lay(self.query_one(Chats))
        self._composer.lay(self._prompt)
        self._bookshelf.refresh(None)
        self._prompt.recall_from(self._bookshelf.earlier_prompts())
        self._prompt.focus()
        self.show_figures(Figures())
        self._lay_chats(self.app.size.width)  # the classes of a width come with the first layout
        if self._setup.problem is not None:
            self.show_error(self._setup.problem)

    def on_resize(self, event: events.Resize) -> None:
        """What was chosen where there is no room for the list holds there only, and the other way round."""
        if not self.query_one(Chats).has_focus_within:  # who is in the list stays there
            self._lay_chats(event.size.width)

    def _lay_chats(self, width: int) -> None:
        """The list as it was chosen for such a width, if that has changed."""
        narrow = width < _WIDE
        if narrow != self._narrow:
            self._narrow = narrow
            chosen = None if narrow else self._setup.values["show_chats"]
            self.set_class(chosen is True, "-chats")
            self.set_class(chosen is False, "-no-chats")

    # --- what the engine's thread says

    def on_engine_notice(self, message: EngineNotice) -> None:
        """Keep it where it can be read again."""
        self._transcript.note(Notice(f"note: {message.text}"))

    def on_engine_reloading(self, message: EngineReloading) -> None:  # noqa: ARG002 — Textual finds it by its name
        """Leave nothing that could be taken for a word about the models that are to come."""
        self._transcript.forget_notes()

    def on_engine_progress(self, message: EngineProgress) -> None:
        """Say what is waited for."""
        self._composer.progress(message.text)

    def on_engine_loaded(self, message: EngineLoaded) -> None:
        """Open for questions."""
        self._desk.info = message.info
        self._prompt.capacity(message.info.n_ctx)
        self._adjusting.tell()
        self._composer.enter(State.READY)
        self._greet()

    def _greet(self) -> None:
        """Say how answers are shown, where nothing else has to be said."""
        if self._composer.state in (State.READY, State.ANSWERING, State.STOPPING):
            self._transcript.say_first(self._showing.greeting)

    def on_load_failed(self, message: LoadFailed) -> None:
        """Say why; it may be tried again."""
        self._transcript.say_first("The models could not be loaded.")
        self._transcript.note(Failure(message.error))
        self._composer.enter(State.BROKEN)

    def load_as_set(self) -> None:
        """Load the models again, as they are set now; those that nobody wanted yet stay where they are."""
        if not self._engine.is_held:
            self.load_models()

    def hold_models(self) -> None:
        """Load nothing yet: the user wanted neither what there was nor another choice, and nothing went wrong."""
        self._transcript.say_first("No models yet. Ctrl+O chooses them, or downloads the recommended ones.")
        self._composer.enter(State.EMPTY)

    def on_engine_event(self, message: EngineEvent) -> None:
        """Show it with the next repaint; the last one of an answer at once."""
        self._desk.add(message.event)
        if isinstance(message.event, Finished):
            self._conclude(None)
            self._adjusting.load_if_needed()

    def on_answer_failed(self, message: AnswerFailed) -> None:
        """Keep what is there and say what happened."""
        self._conclude(message.error)
        self._adjusting.load_if_needed()

    def on_engine_lost(self, message: EngineLost) -> None:
        """Keep what is there; the models may be loaded again."""
        if self._desk.is_answering:
            self._conclude(message.error)
        else:
            self._transcript.add(Failure(message.error))
        self._composer.enter(State.BROKEN)

    def on_engine_crashed(self, message: EngineCrashed) -> None:
        """A bug: it ends the app with its traceback."""
        raise message.error

    # --- what the user asks

    @on(Prompt.Sent)
    def ask(self, message: Prompt.Sent) -> None:
        """Send the conversation with this question, behind it or in the place of one that is edited."""
        if self._desk.ask(message.text, self._composer.editing):
            self.begun()
        else:
            self._composer.give_back(message.text)
            self._composer.enter(self._composer.state)

    def action_again(self) -> None:
        """Have the last question answered again."""
        answers = self._transcript.answers
        if answers:
            self._turn_acts.do(answers[-1], Act.AGAIN)

    @on(Turn.Wanted)
    def act(self, message: Turn.Wanted) -> None:
        """Do what is wanted with a turn."""
        self._turn_acts.do(message.turn, message.act)

    def on_text_copied(self, message: TextCopied) -> None:
        """Say what became of it, and no more than that."""
        self.say(message.copied.said("F5 writes the chat to a file"))

    def action_copy_answer(self) -> None:
        """Copy the last answer."""
        if self._transcript.answers:
            self._turn_acts.do(self._transcript.answers[-1], Act.COPY)

    def begun(self) -> None:
        """An answer is under way."""
        self._composer.leave_edit()
        self._composer.enter(State.ANSWERING)
        self._bookshelf.refresh(self._desk.chat_id)

    def _conclude(self, error: SpecdeskError | None) -> None:
        """End the answer; a question that got none goes back to the prompt."""
        state = self._composer.state
        unanswered = self._desk.conclude(error, stopped=state in (State.STOPPING, State.LOADING))
        if unanswered is not None:
            self._composer.give_back(unanswered)
        self._bookshelf.refresh(self._desk.chat_id)
        if state is not State.LOADING:
            self._composer.enter(State.READY)

    def keep(self) -> None:
        """Have the store keep what came of the answer under way, which nobody waits for any more."""
        self._desk.keep()

    # --- other actions

    def action_stop(self) -> None:
        """End the answer under way."""
        if self._composer.state is State.ANSWERING:
            self._composer.enter(State.STOPPING)
            self._engine.cancel()

    def action_withdraw(self) -> None:
        """Have a question not sent later."""
        self._prompt.withdraw()

    def action_leave_edit(self) -> None:
        """Leave the question that is edited."""
        self._prompt.clear()
        self._composer.leave_edit()

    async def action_interrupt(self) -> None:
        """As in the shell: copy what is selected, end the answer, clear the prompt, and only then leave."""
        selected = self._prompt.selected_text if self._prompt.has_focus else self.get_selected_text()
        match self._composer.interrupt(selected):
            case Meaning.COPY:
                self.copy(selected or "")
            case Meaning.STOP:
                self.action_stop()
            case Meaning.QUIT:
                await self.app.action_quit()
            case Meaning.PUT_AWAY | Meaning.WARN:
                pass

    def action_reload(self) -> None:
        """Load the models again."""
        if self._composer.state is State.BROKEN:
            self.load_models()

    def load_models(self, load: Load | None = None) -> None:
        """Load the same models again, or others; an answer under way ends first, and what came of it is kept."""
        self._composer.enter(State.LOADING)
        self._transcript.say_first(State.LOADING.value)
        self._setup.order()
        self._engine.reload(load)

    def action_toggle_view(self) -> None:
        """Show answers as tokens, or as Markdown."""
        self._showing.toggle(ended=not self._desk.is_answering)
        self._greet()

    def action_toggle_rejected(self) -> None:
        """Show or hide what the target refused, in all answers."""
        self._adjusting.toggle_rejected()

    def action_new_chat(self) -> None:
        """Begin again with an empty history."""
        self._chat_acts.begin()

    def action_undo(self) -> None:
        """Bring back what was deleted last."""
        self._chat_acts.undo()

    def action_scroll(self, pages: int) -> None:
        """Page through the transcript while the prompt keeps the focus."""
        self._transcript.page(pages)

    def check_action(
        self,
        action: str,
        parameters: tuple[object, ...],  # noqa: ARG002 — Textual's signature
    ) -> bool | None:
        """Grey out what has no effect now; of what a key does at different times, leave out the rest."""
        if action in ("stop", "withdraw", "leave_edit"):
            return action == self._escape
        if action == "reload":
            return self._composer.state is State.BROKEN
        if action == "copy_answer":
            return True if self._transcript.answers else None
        if action == "compare":
            return True if self._composer.ready else None
        if action == "again":
            return True if self._composer.ready and self._transcript.answers else None
        if action == "new_chat":
            return None if self._desk.is_answering else True
        return True

    @property
    def _escape(self) -> str | None:
        """What Esc does now."""
        if self._composer.state is State.ANSWERING:
            return "stop"
        if self._prompt.is_queued:
            return "withdraw"
        return None if self._composer.editing is None else "leave_edit"

    # --- A/B, and files

    @work
    async def action_compare(self) -> None:
        """Have the question in the prompt, or the last one, answered both ways beside the chat."""
        kept = await self._excursions.compare(self._prompt.text, self._composer.editing)
        if kept is not None:
            self._prompt.clear()
            self._chat_acts.open(kept)

    @work
    async def action_export(self) -> None:
        """Write the chat into a file."""
        await self._excursions.export()

    @work
    async def action_import(self) -> None:
        """Bring in a chat from a file, and show it."""
        imported = await self._excursions.bring_in()
        if imported is not None:
            self._bookshelf.refresh(self._desk.chat_id)
            self._chat_acts.open(imported)

    @work
    async def save_turn(self, turn: Turn) -> None:
        """Write a turn into a file."""
        await self._excursions.save(turn)

    async def _go(self, screen: Screen[Any]) -> Any:
        """Its result; None where the user has gone elsewhere meanwhile, by a key that was pressed at once."""
        return None if self.app.screen is not self else await self.app.push_screen_wait(screen)

    # --- the chats

    def action_toggle_chats(self) -> None:
        """Show or hide the list."""
        shown = self.query_one(Chats).display
        if not self._narrow:  # where there is room for the list or the conversation only, it is for now
            # As it is without a choice: then that is what it goes back to, at any width.
            by_itself = self.app.size.width >= _ROOMY
            self.remember("show_chats", None if by_itself is not shown else not shown)
        if shown:
            self._show_chats(shown=False)
            self._prompt.focus()
        else:
            self._show_chats(shown=True).enter()

    def _show_chats(self, *, shown: bool) -> Chats:
        """The list, which takes keys at once if it is shown: the next one may have been pressed already."""
        self.set_class(shown, "-chats")
        self.set_class(not shown, "-no-chats")
        self.app.stylesheet.update(self)
        return self.query_one(Chats)

    def action_search(self) -> None:
        """Search all chats."""
        self._show_chats(shown=True).search()

    @on(Chats.Opened)
    def open_chat(self, message: Chats.Opened) -> None:
        """Show another chat."""
        self._chat_acts.open(message.chat_id, message.message_id)

    @on(Chats.Left)
    def write(self) -> None:
        """Go back to the prompt."""
        self._prompt.focus()

    @on(Chats.Searched)
    def search_chats(self, message: Chats.Searched) -> None:
        """List what holds the text."""
        self._bookshelf.search(message.query)

    def offer_undo(self, offered: bool) -> None:
        """Whether something that was deleted can be brought back."""
        self.set_class(offered, CAN_UNDO)
        self.refresh_bindings()

    @on(Chats.Undone)
    def undo_delete(self) -> None:
        """Bring back what was deleted last."""
        self.action_undo()

    @on(Chats.Renaming)
    @work
    async def rename_chat(self, message: Chats.Renaming) -> None:
        """Ask for another title."""
        title = await self._go(TextEntry("Title of the chat", message.title))
        if title and title.strip():
            self._bookshelf.rename(message.chat_id, title.strip())

    @on(Chats.Deleted)
    def delete_chat(self, message: Chats.Deleted) -> None:
        """Take it from the list; it can be brought back."""
        self._chat_acts.delete(message.chat_id)

    # --- settings

    @work
    async def action_settings(self) -> None:
        """Let the user change how answers are made."""
        await self._adjusting.ask()
        self._greet()

    def remember(self, key: str, value: object) -> None:
        """Have kept what is set in passing."""
        self._adjusting.remember(key, value)

    # --- how it is shown

    @on(TokenView.Pointed)
    def point(self, message: TokenView.Pointed) -> None:
        """Tell of the token that is pointed at."""
        self._tell(message.span)

    def _tell(self, span: Span | None) -> None:
        self.query_one(SpeedPanel).tell(span)
        self.query_one(SpeedStrip).tell(span)

    @property
    def _transcript(self) -> Transcript:
        return self.query_one(Transcript)

    def forget_figures(self) -> None:
        """Show no figures, and tell of no token: what they were of is not on the screen any more."""
        self.show_figures(Figures())
        self._tell(None)

    def show_figures(self, figures: Figures) -> None:
        """Show the figures of an answer."""
        self.query_one(SpeedPanel).show(figures)
        self.query_one(SpeedStrip).show(figures)

    def show_setup(self, info: EngineInfo, options: ChatOptions, notes: Sequence[str]) -> None:
        """Show how answers will be made, and keep the notes where they can be read again."""
        self.query_one(ChatHeader).show(info, options)
        for note in notes:
            self._transcript.note(Notice(f"note: {note}"))

    def show_error(self, error: SpecdeskError) -> None:
        """Keep it where it can be read again."""
        self._transcript.add(Failure(error))

    def say(self, text: str) -> None:
        """Tell in passing. Titles and names of files are no markup."""
        self.notify(visible(text), markup=False)

    def copy(self, text: str) -> None:
        """Put it on the clipboard; what became of it is told then."""
        self.app.copy_to_clipboard(text)

    @property
    def _prompt(self) -> Prompt:
        return self.query_one(Prompt)
