"""What the chat writes into files and reads from them, each as the screen that asks for the file."""

from __future__ import annotations

from pathlib import Path

from specdesk.errors import UsageError
from specdesk.store.chat_store import ChatStore
from specdesk.store.exchange import Imported, bring_in, exported, read_file, wants_json, write_file
from specdesk.store.values import Chat
from specdesk.tui.file_names import file_name
from specdesk.tui.screens.file_entry import FileEntry


def export_chat(store: ChatStore, chat: Chat) -> FileEntry[str]:
    """Writes a chat; returns what to say of it."""

    def write(path: Path, overwrite: bool) -> str:
        _check_regular(path)
        taken = exported(store, chat, as_json=wants_json(path))
        write_file(path, taken.text, overwrite=overwrite)
        left_out = f"; messages of other branches, left out: {taken.n_left_out}" if taken.n_left_out else ""
        return f"saved as {path}{left_out}"

    return FileEntry("Save the chat as", file_name(chat.title, ".md"), write, _kind)


def save_text(title: str, what: str, text: str) -> FileEntry[str]:
    """Writes a message of a chat as it is; `what` names it. Returns what to say of it."""

    def write(path: Path, overwrite: bool) -> str:
        _check_regular(path)
        write_file(path, text, overwrite=overwrite)
        return f"saved as {path}"

    return FileEntry(
        f"Save the {what} as", file_name(title, f"-{what}.md"), write, lambda _: "the text as it was written"
    )


def import_chat(store: ChatStore) -> FileEntry[Imported]:
    """Brings a chat in."""

    def read(path: Path, _sure: bool) -> Imported:
        _check_regular(path)
        return bring_in(store, str(path), read_file(path))

    return FileEntry("Import a chat from", "", read, lambda _: "a JSON file of an export; it becomes a chat of its own")


def _kind(path: Path) -> str:
    if wants_json(path):
        return "JSON: everything, also branches and traces; can be imported"
    return "Markdown: what is shown, for reading; .json holds everything"


def _check_regular(path: Path) -> None:
    """A pipe would be waited for, a device has no end."""
    try:
        odd = path.exists() and not path.is_file()
    except (OSError, ValueError):
        return  # whoever opens it will say
    if odd:
        raise UsageError(f"{path} is no file")
