"""Chats on standard output. On a terminal nothing that was said drives it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from rich.text import Text

from specdesk.cli.console import ColorWhen, print_text, styled_console
from specdesk.store.values import Chat, ChatMessage, Hit
from specdesk.tokenview import visible

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


def json_text(values: object) -> str:
    """One line of JSON in ASCII: values of the store, and lists of them, as objects."""
    return json.dumps(values, allow_nan=False, default=_plain) + "\n"


def conversation_record(chat: Chat, conversation: Sequence[ChatMessage]) -> dict[str, Any]:
    """The chat with the messages that are shown."""
    return {**asdict(chat), "messages": conversation}


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else asdict(value)


def _line(text: str) -> str:
    return visible(text.replace("\n", " ").replace("\t", " "))


def _local(time: datetime) -> str:
    return time.astimezone().strftime("%Y-%m-%d %H:%M")
