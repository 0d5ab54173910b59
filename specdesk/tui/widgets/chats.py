"""The chats there are, and the search through them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar, Final

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from specdesk.tokenview import visible

_NONE: Final = "no chats yet"
_BEFORE: Final = 8
"""Characters that are shown before what was searched for."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the list."""

    chat_id: int
    title: str
    when: str = ""
    """Below the title: when it was used, or when what was found was written."""
    found: str = ""
    """Below that: where the text was found."""
    mark: tuple[int, int] | None = None
    """What of it was searched for."""
    message_id: int | None = None
    """The message in which it was found."""


class _Line(Option):
    """An entry as it is listed: it is still the one that was meant when the list has changed since."""

    def __init__(self, entry: Entry, *, current: bool) -> None:
        super().__init__(_line(entry, current=current))
        self.entry = entry


class Chats(Vertical):
    """A search field above a list. It shows what it is given, and asks its owner for all else."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2", "rename", "Rename", id="chats.rename", tooltip="Give the chat another title."),
        Binding("delete", "delete", "Delete", id="chats.delete", tooltip="Delete the chat; this can be undone."),
        Binding("u,U", "undo", "Undo", id="chats.undo", tooltip="Bring back the chat that was deleted last."),
        Binding("down", "enter", id="chats.enter", tooltip="From the search into the list.", show=False),
        Binding("escape", "leave", "Back", id="chats.leave", tooltip="Go back to the prompt."),
    ]

    @dataclass
    class _ToOwner(Message):
        chats: Chats

        @property
        def control(self) -> Chats:
            """The list."""
            return self.chats

    @dataclass
    class Opened(_ToOwner):
        """The user wants to see a chat, and of it a message, if one was searched for."""

        chat_id: int
        message_id: int | None

    @dataclass
    class Renaming(_ToOwner):
        """The user wants a chat to have another title than this."""

        chat_id: int
        title: str

    @dataclass
    class Deleted(_ToOwner):
        """The user wants a chat gone."""

        chat_id: int

    @dataclass
    class Undone(_ToOwner):
        """The user wants the chat back that was deleted last."""

    @dataclass
    class Searched(_ToOwner):
        """The user looks for a text; empty: for nothing in particular."""

        query: str

    @dataclass
    class Left(_ToOwner):
        """The user wants to write again."""

    def __init__(self) -> None:
        super().__init__()
        self._searched_anew = False
        """Whether what is listed is not what holds the text in the field yet."""

    def compose(self) -> ComposeResult:
        """The field and the list."""
        yield Input(placeholder="Search chats", compact=True)
        yield OptionList(markup=False)
        yield Static(_NONE, markup=False, classes="empty")

    @property
    def query_text(self) -> str:
        """What is searched for."""
        return self.query_one(Input).value

    def show(self, entries: Sequence[Entry], current: int | None, *, empty: str = _NONE) -> None:
        """Show these; `empty` says why there are none. A user who is in the list still points at the same entry.

        What was searched for anew is pointed at from the first one on.
        """
        options = self.query_one(OptionList)
        pointed, kept = self._highlighted if options.has_focus else None, options.highlighted
        anew, self._searched_anew = self._searched_anew and self._searches, False
        options.clear_options()
        options.add_options(_Line(entry, current=entry.chat_id == current) for entry in entries)
        if entries:
            same = (i for i, entry in enumerate(entries) if pointed is not None and _are_one(entry, pointed))
            shown = (i for i, entry in enumerate(entries) if entry.chat_id == current)
            options.highlighted = 0 if anew else next(chain(same, shown), min(kept or 0, len(entries) - 1))
        options.display = bool(entries)
        self.query_one(".empty", Static).update(visible(empty))
        self.query_one(".empty").display = not entries

    def enter(self) -> None:
        """Let the user choose."""
        self.query_one(OptionList if self._lists_any else Input).focus()

    def search(self) -> None:
        """Let the user type what to look for."""
        self.query_one(Input).focus()

    @on(Input.Changed)
    def _search(self, event: Input.Changed) -> None:
        event.stop()
        self._searched_anew = True
        self.post_message(self.Searched(self, event.value))

    @on(Input.Submitted)
    def _to_list(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_enter()

    @on(OptionList.OptionSelected)
    def _open(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if (entry := _entry_of(event.option)) is not None:
            self.post_message(self.Opened(self, entry.chat_id, entry.message_id))

    def action_enter(self) -> None:
        """Go from the search to the list, and to its first entry if anything is searched for."""
        options = self.query_one(OptionList)
        if self._lists_any and not options.has_focus:
            options.focus()
            if self._searches:
                options.highlighted = 0

    def action_rename(self) -> None:
        """Ask for another title of the highlighted chat."""
        if (entry := self._highlighted) is not None:
            self.post_message(self.Renaming(self, entry.chat_id, entry.title))

    def action_delete(self) -> None:
        """Delete the highlighted chat."""
        if (entry := self._highlighted) is not None:
            self.post_message(self.Deleted(self, entry.chat_id))

    def action_undo(self) -> None:
        """Bring back the chat that was deleted last."""
        self.post_message(self.Undone(self))

    def action_leave(self) -> None:
        """Give up the search, then the focus."""
        search = self.query_one(Input)
        if search.value:
            search.clear()
        else:
            self.post_message(self.Left(self))

    @property
    def _highlighted(self) -> Entry | None:
        return _entry_of(self.query_one(OptionList).highlighted_option)

    @property
    def _searches(self) -> bool:
        return bool(self.query_text.strip())

    @property
    def _lists_any(self) -> bool:
        return self.query_one(OptionList).option_count > 0


def _entry_of(option: Option | None) -> Entry | None:
    return option.entry if isinstance(option, _Line) else None


def _are_one(entry: Entry, other: Entry) -> bool:
    """Whether they stand for the same chat, or the same message in it, whatever is said of it."""
    return (entry.chat_id, entry.message_id) == (other.chat_id, other.message_id)


def _line(entry: Entry, *, current: bool) -> Text:
    # A marker, since colour alone would not do.
    text = Text("▸ " if current else "  ", end="")
    text.append(visible(entry.title) or "(no title)", style="bold" if current else "")
    if entry.when:
        text.append(f"\n  {entry.when}", style="dim")
    if entry.found:
        words, mark = _near(entry.found, entry.mark)
        note = Text("\n  ", style="dim", end="")
        note.append(visible(words))
        if mark is not None:
            start, end = mark
            note.stylize("reverse not dim", 3 + start, 3 + end)
        text.append_text(note)
    text.no_wrap = True
    text.overflow = "ellipsis"
    return text


def _near(found: str, mark: tuple[int, int] | None) -> tuple[str, tuple[int, int] | None]:
    """What was found, from shortly before the mark on: what was searched for stands where the list is narrow, too."""
    if mark is None or mark[0] <= _BEFORE:
        return found, mark
    cut = mark[0] - _BEFORE
    return f"…{found[cut + 1 :]}", (mark[0] - cut, mark[1] - cut)
