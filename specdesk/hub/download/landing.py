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
    the file is not gone on with, nor one whose version is not known and cannot be told by its hash.
    Raises: SourceError; OSError where the disk refuses; Interrupted.
    """
    start = part_bytes(path)
    if start > file.size_bytes or not _same_version(file, path):
        start = 0
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
            report.finish()
            return


def _same_version(file: ModelFile, path: Path) -> bool:
    """Whether what has come may be a part of these bytes."""
    if file.version is None:
        return True
    try:
        kept = version_of_part(path).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return file.sha256 is not None  # which will decide
    return kept == file.version != ""


class _WrongBytesError(SourceError):
    """What came is not the file."""


def _complete(file: ModelFile, path: Path, source: FileSource, start: int, report: Reporter, stop: Stop) -> None:
    """Append to the first `start` bytes of the part until it is the whole file, checked."""
    report.start(file.path, file.size_bytes)
    if file.version is not None:
        version_of_part(path).unlink(missing_ok=True)  # else a link in its place would be written through
        version_of_part(path).write_text(file.version, encoding="utf-8")
    with _opened(path) as out:
        out.truncate(start)
        digest = sha256_of(out, lambda _n: check(stop))
        if start:
            report.keep(start)
        received = start
        if start < file.size_bytes:
            with contextlib.closing(source.chunks(file, start)) as chunks:
                for chunk in chunks:
                    check(stop)
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
