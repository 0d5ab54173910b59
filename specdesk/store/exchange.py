"""Chats as files: one that is taken out, and one that is brought in. The shell and the app do it alike."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from specdesk.errors import StorageError, UsageError
from specdesk.store.chat_store import ChatStore
from specdesk.store.markdown import markdown_of
from specdesk.store.values import Chat
from specdesk.whole_file import replace_whole

_MOST_BYTES: Final = 10**9
"""Far more than any chat has; /dev/zero has no end."""


@dataclass(frozen=True, slots=True)
class Exported:
    """A chat as the text of a file."""

    text: str
    n_left_out: int
    """Messages of other branches that it does not hold."""


@dataclass(frozen=True, slots=True)
class Imported:
    """A chat that was brought in."""

    chat: Chat
    twins: tuple[int, ...]
    """Chats that began at the same moment: the one it was taken out of, or earlier imports of it."""


def wants_json(path: Path) -> bool:
    """Whether a file of that name is to hold JSON; any other holds Markdown."""
    return path.suffix.lower() == ".json"


def exported(store: ChatStore, chat: Chat, *, as_json: bool) -> Exported:
    """A chat as JSON with everything, or as Markdown with the conversation that is shown."""
    if as_json:
        return Exported(json.dumps(store.export(chat.id), allow_nan=False) + "\n", 0)
    conversation = store.conversation(chat.id)
    return Exported(markdown_of(chat, conversation), chat.n_messages - len(conversation))


def bring_in(store: ChatStore, name: str, data: bytes) -> Imported:
    """Keep a chat that was exported as JSON. Raises UsageError that begins with `name` for any other data."""
    try:
        kept = store.import_chat(data)
    except UsageError as error:
        raise UsageError(f"{name}: {error.message}", error.hint) from error
    others = (chat for chat in store.chats() if chat.id != kept.id)
    return Imported(kept, tuple(chat.id for chat in others if chat.created == kept.created))


def write_file(path: Path, text: str, *, overwrite: bool) -> None:
    """Write a file of its own.

    Raises: FileExistsError if there is one and it is not to be overwritten; StorageError if the disk refuses. Then what
    was there is there still, and nothing else.
    """
    # Bytes, so that every line ends as it was written.
    data = text.encode("utf-8", "backslashreplace")
    try:
        if not overwrite:
            _write_new(path, data)
        elif path.exists() and not path.is_file():  # a device, such as /dev/stdout
            path.write_bytes(data)
        else:
            replace_whole(path, data)
    except FileExistsError:
        raise
    except (OSError, ValueError) as error:
        raise StorageError(f"cannot write {path}: {_why(error)}") from error


def read_file(path: Path, standard_input: BinaryIO | None = None) -> bytes:
    """All of it; - is `standard_input` where that is given. Raises UsageError if it cannot be read."""
    try:
        with path.open("rb") if standard_input is None or str(path) != "-" else nullcontext(standard_input) as file:
            data = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {path}: {_why(error)}") from error
    if len(data) > _MOST_BYTES:
        raise UsageError(f"{path} has more than {_MOST_BYTES // 10**9} GB: it is no chat")
    return data


def _write_new(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        try:
            file.write(data)
            file.flush()
        except OSError:
            path.unlink(missing_ok=True)
            raise


def _why(error: OSError | ValueError) -> str:
    """ValueError is a name that no file can have."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
