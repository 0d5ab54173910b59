"""Values as they stand in the file: text, times, JSON, traces. Every value comes back as it was.

What stands there and cannot have been written by this module is a file that was damaged, and raises StorageError.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from specdesk.errors import StorageError

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_NUL: Final = b"\xc0\x80"
"""SQLite's functions on text end at a NUL, so it is kept in two bytes that are no UTF-8, as Java has it."""


def encoded(text: str) -> bytes:
    """To be bound as CAST(? AS TEXT). Lone surrogates are kept; two that make up a character become that character."""
    try:
        data = text.encode()
    except UnicodeEncodeError:
        joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        data = joined.encode("utf-8", "surrogatepass")
    return data.replace(b"\0", _NUL)


def encoded_or_none(text: str | None) -> bytes | None:
    """The same, or NULL."""
    return None if text is None else encoded(text)


def decoded(data: bytes) -> str:
    """The text again. Bytes that were damaged cost a character, not the chat: they become U+FFFD."""
    data = data.replace(_NUL, b"\0")
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


def stamp(time: datetime) -> int:
    """Microseconds since 1970."""
    return (time - _EPOCH) // _MICROSECOND


def time_of(stamp: int) -> datetime:
    """The time of a stamp, in UTC."""
    return _EPOCH + stamp * _MICROSECOND


def time_or_none(stamp: int | None) -> datetime | None:
    """The same, or None."""
    return None if stamp is None else time_of(stamp)


def as_json(value: object) -> str:
    """JSON in ASCII. Raises ValueError or TypeError for what JSON does not know, NaN and infinity among it."""
    return json.dumps(value, allow_nan=False)


def json_or_none(value: object | None) -> str | None:
    """The same, or NULL."""
    return None if value is None else as_json(value)


def table_of(text: str | None) -> dict[str, Any] | None:
    """A dict that was kept as JSON, or None."""
    if text is None:
        return None
    value = json.loads(text)
    if not isinstance(value, dict):
        raise TypeError(f"no JSON object: {text!r}")
    return value


def packed(steps: Sequence[dict[str, Any]]) -> bytes:
    """Lines of a trace, compressed."""
    return zlib.compress("\n".join(map(as_json, steps)).encode())


def unpacked(data: bytes) -> list[dict[str, Any]]:
    """The lines again."""
    return [json.loads(line) for line in zlib.decompress(data).decode().split("\n")]


@contextmanager
def undamaged(what: str) -> Iterator[None]:
    """What is read from the file in the block, `what`, may be damaged: that is a StorageError."""
    try:
        yield
    except (ValueError, TypeError, LookupError, OverflowError, zlib.error) as error:
        raise StorageError(
            f"{what} is damaged in the file of chats: {error}", "the other chats can still be used"
        ) from error
