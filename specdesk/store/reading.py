"""A document of `export`, checked before anything of it is kept."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Final, TypeVar

from specdesk.errors import UsageError
from specdesk.store.document import FORMAT, VERSION
from specdesk.store.encoding import as_json
from specdesk.store.strict_object import StrictObject
from specdesk.store.values import Role, State

Name = TypeVar("Name", bound=StrEnum)

_DAY: Final = timedelta(days=1)
_FIRST: Final = datetime.min.replace(tzinfo=UTC) + _DAY
_LAST: Final = datetime.max.replace(tzinfo=UTC) - _DAY
"""Times that exist in every time zone."""


@dataclass(frozen=True, slots=True)
class ReadMessage:
    """A message of a document. Numbers are those of the document."""

    id: int
    parent: int | None
    role: Role
    state: State
    text: str
    error: str | None
    created: datetime
    settings: dict[str, Any] | None
    models: dict[str, Any] | None
    stats: dict[str, Any] | None
    trace: tuple[dict[str, Any], ...]
    left_out: datetime | None


@dataclass(frozen=True, slots=True)
class ReadChat:
    """A chat of a document: messages come behind those they follow, and questions and answers take turns."""

    title: str
    system: str | None
    created: datetime
    updated: datetime
    leaf: int | None
    messages: tuple[ReadMessage, ...]


def read_chat(data: bytes) -> ReadChat:
    """The chat of a document. Raises UsageError that names what is wrong with it, and where."""
    try:
        root = StrictObject("", json.loads(data))
    except RecursionError as error:
        raise UsageError("nested too deeply") from error
    except ValueError as error:
        raise UsageError(f"not JSON: {error}") from error
    if root.take("format", str) != FORMAT:
        raise root.error(f'format must be "{FORMAT}"', "import reads what export --format json wrote")
    if not 1 <= (version := root.take("version", int)) <= VERSION:
        raise root.error(f"version must be 1 to {VERSION}, not {version}", "a newer specdesk may know it")
    chat = ReadChat(
        title=root.take("title", str),
        system=root.take_or_none("system", str),
        created=_time(root, "created"),
        updated=_time(root, "updated"),
        leaf=root.take_or_none("leaf", int),
        messages=tuple(_message(item, version) for item in root.objects("messages")),
    )
    root.end()
    _check_turns(chat.messages)
    _check_leaf(chat)
    return chat


def _message(item: StrictObject, version: int) -> ReadMessage:
    role, state = _one_of(item, "role", Role), _one_of(item, "state", State)
    if role is Role.USER and state is not State.COMPLETE:
        raise item.error(f"state must be complete in a message of the user, not {state}")
    message = ReadMessage(
        id=item.take("id", int),
        parent=item.take_or_none("parent", int),
        role=role,
        # Whoever wrote it does not write it here.
        state=State.STOPPED if state is State.WRITING else state,
        text=item.take("text", str),
        error=item.take_or_none("error", str),
        created=_time(item, "created"),
        settings=_table(item, "settings"),
        models=_table(item, "models"),
        stats=_table(item, "stats"),
        trace=tuple(_trace(item)),
        left_out=_time_or_none(item, "left_out") if version > 1 else None,
    )
    if role is Role.ASSISTANT and message.left_out is not None:
        raise item.error("left_out must be null in an answer: a question is left out with its answers")
    item.end()
    return message


def _check_turns(messages: Sequence[ReadMessage]) -> None:
    roles: dict[int, Role] = {}
    for number, message in enumerate(messages):
        place = f"messages[{number}]"
        if message.id in roles:
            raise UsageError(f"{place}: id {message.id} is there twice")
        if message.parent is not None and message.parent not in roles:
            raise UsageError(f"{place}: parent must be the id of a message before it, not {message.parent}")
        due = Role.USER if message.parent is None or roles[message.parent] is Role.ASSISTANT else Role.ASSISTANT
        if message.role is not due:
            raise UsageError(f"{place}: role must be {due} here, where questions and answers take turns")
        roles[message.id] = message.role


def _check_leaf(chat: ReadChat) -> None:
    """What follows it was deleted from the conversation, which ends before a question."""
    if chat.leaf is None:
        return
    roles = {message.id: message.role for message in chat.messages}
    if chat.leaf not in roles:
        raise UsageError(f"leaf must be the id of a message, or null where none is shown, not {chat.leaf}")
    if roles[chat.leaf] is Role.USER and chat.leaf in {message.parent for message in chat.messages}:
        raise UsageError(f"leaf must be the id of an answer, or of a question that has none, not {chat.leaf}")


def _time(item: StrictObject, key: str) -> datetime:
    return _as_time(item, key, item.take(key, str))


def _time_or_none(item: StrictObject, key: str) -> datetime | None:
    text = item.take_or_none(key, str)
    return None if text is None else _as_time(item, key, text)


def _as_time(item: StrictObject, key: str, text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
        if time.tzinfo is not None and _FIRST <= time.astimezone(UTC) <= _LAST:
            return time.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise item.error(f"{key} must be a time with its offset, like 2026-01-31T12:00:00+00:00, not {reprlib.repr(text)}")


def _one_of(item: StrictObject, key: str, names: type[Name]) -> Name:
    text = item.take(key, str)
    try:
        return names(text)
    except ValueError:
        raise item.error(f"{key} must be {' or '.join(names)}, not {reprlib.repr(text)}") from None


def _table(item: StrictObject, key: str) -> dict[str, Any] | None:
    table = item.take_or_none(key, dict)
    _check_keepable(item, key, table)
    return table


def _trace(item: StrictObject) -> list[dict[str, Any]]:
    lines = item.take("trace", list)
    for number, line in enumerate(lines):
        if not isinstance(line, dict):
            raise item.error(f"trace[{number}] must be an object")
    _check_keepable(item, "trace", lines)
    return lines


def _check_keepable(item: StrictObject, key: str, value: object) -> None:
    """NaN and infinity are read, but are no JSON."""
    try:
        as_json(value)
    except (ValueError, RecursionError) as error:
        raise item.error(f"{key} cannot be kept: {error}") from error
