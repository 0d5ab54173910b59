"""Names of files: made of what people write, and as people write them."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Final

_LONGEST_BYTES: Final = 60
"""Systems take 255; a list of files, and the field it is offered in, have room for less."""


def file_name(title: str, ending: str, *, otherwise: str = "chat") -> str:
    """A name for a file from a title, in any script, with nothing that a shell or a file system might mind.

    `ending` is joined to it; `otherwise` is the name where nothing of the title is left.
    """
    # Marks belong to the letters before them, as vowels do in many scripts.
    kept = (c if unicodedata.category(c)[0] in "LNM" else " " for c in unicodedata.normalize("NFC", title))
    words = "".join(kept).split()
    name = ""
    for word in words:
        longer = f"{name}-{word}" if name else word
        if len(longer.encode()) > _LONGEST_BYTES:
            break
        name = longer
    if words and not name:
        name = words[0].encode()[:_LONGEST_BYTES].decode(errors="ignore")
    return f"{name or otherwise}{ending}"


def with_tilde(path: Path) -> str:
    """The path, with ~ for the home directory."""
    try:
        return str(Path("~", path.relative_to(Path.home())))
    except (ValueError, RuntimeError):
        return str(path)
