"""--grammar and --json-schema: a file each, as the grammar that an answer keeps to."""

from __future__ import annotations

from pathlib import Path

from specdesk.cli.text_files import text_of
from specdesk.errors import UsageError


def grammar_text(grammar: Path | None, json_schema: Path | None) -> str | None:
    """The grammar in llama.cpp's notation; None if neither file is given.

    Raises UsageError for both, for a file that cannot be read as UTF-8, and for a schema that cannot be enforced.
    """
    if grammar is not None and json_schema is not None:
        raise UsageError("--grammar and --json-schema exclude each other")
    if grammar is not None:
        return text_of(grammar)
    if json_schema is None:
        return None
    from specdesk.engine.client import gbnf_of_schema

    return gbnf_of_schema(text_of(json_schema))
