"""--grammar and --json-schema: a file each, as the grammar that an answer keeps to."""

from __future__ import annotations

from pathlib import Path

from specdesk.errors import UsageError

_MOST_BYTES = 10**7
"""Far more than any grammar has; /dev/zero has no end."""


def grammar_text(grammar: Path | None, json_schema: Path | None) -> str | None:
    """The grammar in llama.cpp's notation; None if neither file is given.

    Raises UsageError for both, for a file that cannot be read as UTF-8, and for a schema that cannot be enforced.
    """
    if grammar is not None and json_schema is not None:
        raise UsageError("--grammar and --json-schema exclude each other")
    if grammar is not None:
        return _text(grammar)
    if json_schema is None:
        return None
    from specdesk.engine.client import gbnf_of_schema

    return gbnf_of_schema(_text(json_schema))


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise UsageError(f"{path} has more than {_MOST_BYTES // 10**6} MB")
        return data.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}") from error
