"""Small files that are replaced whole: who reads one finds what was there, or what is there now, and never a half."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

_NAMED: Final = 20
"""Characters of a file's name in that of its part: names end at 255 bytes, and a character may take 4."""


def replace_whole(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Put a file with `data` in the place of `path`, or of what it links to; a link stays.

    Its rights are `mode`, as far as the umask leaves it. Without `mode` they are those of the file that it replaces,
    and those of any new file where there is none. When it returns, the data is on the disk. The folder has to be there.

    Raises OSError, also where a directory, a pipe or a device is in the place, and ValueError for a name that no file
    can have. Then what was there is there still, and nothing else; a process that is killed may leave a part of it.
    """
    place = Path(os.path.realpath(path))
    found = _mode_of(place)
    part = place.with_name(f"{place.name[:_NAMED]}.{secrets.token_hex(8)}.part")
    # Who may not read the file may not read its part meanwhile.
    first = mode if mode is not None else 0o600 if found is not None else 0o666
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, first)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            # Some file systems have no rights of their own, and refuse to change any.
            if mode is None and found is not None and found != stat.S_IMODE(os.fstat(handle).st_mode):
                os.fchmod(handle, found)
            os.fsync(handle)
        part.replace(place)
    except BaseException:
        with suppress(OSError):  # what went wrong first is told
            part.unlink()
        raise


def _mode_of(place: Path) -> int | None:
    """The rights of the file there, None where there is none. Raises OSError for what is no file."""
    try:
        found = place.lstat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISREG(found):
        return stat.S_IMODE(found)
    if stat.S_ISDIR(found):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(place))
    if stat.S_ISLNK(found):  # links were followed: what is left goes round in a circle
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(place))
    raise OSError(errno.EINVAL, "no regular file", str(place))
