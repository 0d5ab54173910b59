"""Puts what a source delivers on the disk: under the file's name only after it was checked, until then as a part beside
it, which is gone on with the next time."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from specdesk.hub.artifacts import ModelFile
from specdesk.hub.download.report import Reporter
from specdesk.hub.hashing import sha256_of
from specdesk.hub.here.parts import part_bytes, part_of, version_of_part
from specdesk.hub.sources.source import FileSource, ResumeError, SourceError
from specdesk.hub.stopping import Stop, check


def land(file: ModelFile, path: Path, source: FileSource, report: Reporter, stop: Stop) -> None:
    """Fetch what is missing of a file and give it its name.

    Whatever ends this early leaves the part for the next time, unless its bytes are wrong. A part of another version of
    the file is not gone on with, nor one whose version is not known and cannot be told by its hash; it stays until
    something of this version has come.
    Raises: SourceError; OSError where the disk refuses; Interrupted.
    """
    start = _bytes_here(file, path)
    while True:
        try:
            _complete(file, path, source, start, report, stop)
        except ResumeError as error:
            if error.at >= start:
                raise
            start = error.at
        except _WrongBytesError as error:
            part_of(path).unlink(missing_ok=True)
            version_of_part(path).unlink(missing_ok=True)
            if not start:
                raise
            report.notice(f"{error}; what was kept of it may be damaged, it is fetched anew")
            start = 0
        else:
            part_of(path).replace(path)
            version_of_part(path).unlink(missing_ok=True)
            report.finish(hashed=file.sha256 is not None)
            return


def _bytes_here(file: ModelFile, path: Path) -> int:
    """How much of the file has come, as far as that can be told without its hash."""
    n_bytes = part_bytes(path)
    return n_bytes if n_bytes <= file.size_bytes and _same_version(file, path) else 0


def _same_version(file: ModelFile, path: Path) -> bool:
    """Whether what has come may be a part of these bytes."""
    if file.version is None:
        return True
    try:
        # A pipe in its place would be waited for.
        kept = version_of_part(path).read_text(encoding="utf-8") if version_of_part(path).is_file() else None
    except (OSError, ValueError):
        kept = None
    if kept is None:
        return file.sha256 is not None  # which will decide
    return kept == file.version != ""


class _WrongBytesError(SourceError):
    """What came is not the file."""


def _complete(file: ModelFile, path: Path, source: FileSource, start: int, report: Reporter, stop: Stop) -> None:
    """Append to the first `start` bytes of the part until it is the whole file, checked."""
    report.start(file.path, file.size_bytes)
    with _opened(path) as out:
        digest = sha256_of(out, lambda _n: check(stop), start)
        if start:
            report.keep(start)
        received = start
        if start < file.size_bytes:
            with contextlib.closing(source.chunks(file, start)) as chunks:
                for chunk in chunks:
                    check(stop)
                    if received == start:
                        _make_its(file, path, out, start)
                    received += len(chunk)
                    if received > file.size_bytes:
                        raise _WrongBytesError(
                            f"{source.name} sent more than the {file.size_bytes} bytes of {file.path}"
                        )
                    out.write(chunk)
                    digest.update(chunk)
                    report.advance(len(chunk))
        out.flush()
        os.fsync(out.fileno())
    if received != file.size_bytes:
        raise SourceError(f"{source.name} sent {received} of the {file.size_bytes} bytes of {file.path}")
    if file.sha256 is not None and digest.hexdigest() != file.sha256:
        sha256 = digest.hexdigest()
        raise _WrongBytesError(f"{file.path} from {source.name} was deleted: its sha256 is {sha256}, not {file.sha256}")


def _make_its(file: ModelFile, path: Path, out: IO[bytes], start: int) -> None:
    """Give up what lies behind the first `start` bytes, as far as it is not the file's, since something has come.

    Not before: many a source that begins again brings nothing at all.
    """
    if file.sha256 is None or not _bytes_here(file, path):
        out.truncate(start)
    # Else it is the file's whoever sent it, and is written over; a source that breaks off takes nothing with it.
    if file.version is not None:
        version_of_part(path).unlink(missing_ok=True)  # else a link in its place would be written through
        version_of_part(path).write_text(file.version, encoding="utf-8")


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """The part, to read and write; one that stays empty is taken away again."""
    part = part_of(path)
    if part.is_symlink() or (part.exists() and not part.is_file()):
        part.unlink()  # else another file would be written to
    mode = "r+b" if part.exists() else "x+b"
    try:
        with part.open(mode) as out:
            yield out
    finally:
        if not part_bytes(path):
            part.unlink(missing_ok=True)
            version_of_part(path).unlink(missing_ok=True)
