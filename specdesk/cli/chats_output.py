"""Chats on standard output and in files. On a terminal nothing that was said drives it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.text import Text

from specdesk.cli.console import ColorWhen, styled_console
from specdesk.errors import StorageError, UsageError
from specdesk.store.values import Chat, ChatMessage, Hit
from specdesk.tokenview import visible

_MOST_BYTES = 10**9
"""Far more than any chat has; /dev/zero has no end."""
_FOUND_STYLE = "bold reverse"


def print_list(chats: Sequence[Chat]) -> None:
    """A line for each."""
    for chat in chats:
        print_text(f"{chat.id:>5}  {_local(chat.updated)}  {chat.n_messages:>4}  {_line(chat.title)}\n")


def print_hits(hits: Sequence[Hit]) -> None:
    """Two lines for each: where it is, and what stands there."""
    console = styled_console(sys.stdout, ColorWhen.AUTO)
    for hit in hits:
        what = "title" if hit.role is None else hit.role.value
        print_text(f"{hit.chat.id:>5}  {_local(hit.created)}  {what:9}  {_line(hit.chat.title)}\n")
        snippet = Text(f"       {_line(hit.snippet)}")
        if console is None:
            print_text(f"{snippet.plain}\n")
        else:
            indent = len(snippet) - len(hit.snippet)
            snippet.stylize(_FOUND_STYLE, hit.start + indent, hit.end + indent)
            console.print(snippet)


def print_json(values: object) -> None:
    """JSON in ASCII, which no terminal minds; times as in ISO 8601."""
    print_text(json_text(values))


def print_text(text: str) -> None:
    """As it is, but for a terminal."""
    sys.stdout.write(visible(text) if sys.stdout.isatty() else text)


def json_text(values: object) -> str:
    """One line of JSON in ASCII: values of the store, and lists of them, as objects."""
    return json.dumps(values, allow_nan=False, default=_plain) + "\n"


def conversation_record(chat: Chat, conversation: Sequence[ChatMessage]) -> dict[str, Any]:
    """The chat with the messages that are shown."""
    return {**asdict(chat), "messages": conversation}


def write_file(path: Path, text: str, *, force: bool) -> None:
    """Write a file of its own. Raises UsageError if there is one and it is not to be overwritten, StorageError."""
    try:
        # Bytes, so that every line ends as it was written.
        with path.open("wb" if force else "xb") as file:
            file.write(text.encode("utf-8", "backslashreplace"))
    except FileExistsError as error:
        raise UsageError(f"{path} is there already", "--force overwrites it") from error
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}") from error


def read_file(path: Path) -> bytes:
    """All of it; - is standard input. Raises UsageError if it cannot be read."""
    try:
        with nullcontext(sys.stdin.buffer) if str(path) == "-" else path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    if len(data) > _MOST_BYTES:
        raise UsageError(f"{path} has more than {_MOST_BYTES // 10**9} GB: it is no chat")
    return data


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else asdict(value)


def _line(text: str) -> str:
    return visible(text.replace("\n", " ").replace("\t", " "))


def _local(time: datetime) -> str:
    return time.astimezone().strftime("%Y-%m-%d %H:%M")
