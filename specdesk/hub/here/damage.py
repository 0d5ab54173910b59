"""Whether a file that was downloaded is still what was downloaded."""

from __future__ import annotations

import contextlib
from pathlib import Path

from specdesk.hub.hashing import is_sha256, sha256_of
from specdesk.hub.here.origin import keep_origin, note_of
from specdesk.hub.stopping import Stop, check


def damage_of(path: Path, stop: Stop, *, hashing: bool = True) -> str:
    """How the file differs from what was downloaded, in words; empty where it does not, or nothing tells.

    Reads all of it only where somebody has written to it since, and not without `hashing`.
    Raises: OSError; Interrupted.
    """
    note = note_of(path)
    if note is None or note.unchanged:
        return ""
    size_bytes = path.stat().st_size
    if note.size_bytes is not None and size_bytes != note.size_bytes:
        if size_bytes < note.size_bytes:
            return f"only {size_bytes:,} of its {note.size_bytes:,} bytes are here"
        return f"it has {size_bytes:,} bytes, not {note.size_bytes:,}"
    if not hashing or not is_sha256(note.origin.version):
        return ""
    with path.open("rb") as file:
        found = sha256_of(file, lambda _n: check(stop)).hexdigest()
    if found != note.origin.version:
        return "its bytes were changed since"
    with contextlib.suppress(OSError):  # of a folder that may only be read: then it is read again the next time
        keep_origin(path, note.origin)
    return ""
