"""Names that others gave to files, and whether they stay inside a folder on every system."""

from __future__ import annotations

import re
from typing import Final

_LONGEST_BYTES: Final = 200
"""Of one name: beside the file lie others with a longer one, and file systems end at 255."""

_FORBIDDEN: Final = re.compile(r'[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069<>:"|?*\\]')
"""What systems refuse, what drives a terminal, and what turns the letters behind it round."""
_DEVICES: Final = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
"""What Windows takes for a device, whatever the folder and the suffix."""


def unsafe(path: str) -> str:
    """What speaks against `path`, with / between its names, as a place below a folder; empty where nothing does."""
    for name in path.split("/"):
        if name in ("", ".", ".."):
            return "it leads out of its folder"
        if found := _FORBIDDEN.search(name):
            return f"it holds {found.group()!r}"
        if name.startswith(".") or name.endswith((".", " ")) or _DEVICES.fullmatch(name):
            return f"no system-independent file can be called {name!r}"
        try:
            too_long = len(name.encode("utf-8")) > _LONGEST_BYTES
        except UnicodeEncodeError:
            return "it is no text"
        if too_long:
            return f"a name in it has more than {_LONGEST_BYTES} bytes"
    return ""
