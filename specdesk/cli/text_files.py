"""Files of text that options name."""

from __future__ import annotations

from pathlib import Path

from specdesk.errors import UsageError

_MOST_BYTES = 10**7
"""Far more than any of them has; /dev/zero has no end."""


def text_of(path: Path) -> str:
    """All of it. Raises UsageError for a file that cannot be read as UTF-8, or is far too long."""
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
