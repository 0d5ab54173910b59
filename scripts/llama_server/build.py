"""Builds llama-server from the very sources that the installed llama-cpp-python was built from."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tarfile
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import Final
from zlib import crc32

from llama_server.children import Children
from llama_server.log import last_lines
from specdesk.errors import NetworkError, SpecdeskError, StorageError, UsageError

_PACKAGE: Final = "llama-cpp-python"
# Only the server, without its pages, optimized, and with nothing fetched or found elsewhere.
_OPTIONS: Final = (
    "-DCMAKE_BUILD_TYPE=Release",
    "-DBUILD_SHARED_LIBS=OFF",
    "-DLLAMA_BUILD_TESTS=OFF",
    "-DLLAMA_BUILD_EXAMPLES=OFF",
    "-DLLAMA_BUILD_APP=OFF",
    "-DLLAMA_BUILD_UI=OFF",
    "-DLLAMA_USE_PREBUILT_UI=OFF",
    "-DLLAMA_OPENSSL=OFF",
)


def built_server(builds: Path, children: Children, notify: Callable[[str], None]) -> Path:
    """The llama-server below `builds` of this version and these CMAKE_ARGS; built first where there is none yet.

    `notify` is told of each step that takes its time. What a step prints goes to build.log beside the build.
    Raises: UsageError without CMake; NetworkError if the sources cannot be fetched; StorageError if the disk refuses;
    SpecdeskError, with the last lines of the log, if they do not compile; Interrupted if stopped.
    """
    release = version(_PACKAGE).partition("+")[0]
    folder = builds / _name(release)
    server = folder / "build" / "bin" / "llama-server"
    if server.is_file():
        return server
    if shutil.which("cmake") is None:
        raise UsageError("llama-server has to be built, and there is no cmake", "install it, or use --server PATH")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        source = folder / "source"
        if not source.is_dir():
            notify(f"fetching the sources of {_PACKAGE} {release}")
            _fetch(release, source, folder, children)
        notify(f"compiling llama-server in {folder} (once): about 10 minutes on 2 cores")
        _compile(source, folder, children)
    except OSError as error:
        raise StorageError(f"cannot build in {folder}: {error.strerror or error}") from error
    if not server.is_file():
        raise SpecdeskError(f"the build of llama-server made no {server}", f"see {folder / 'build.log'}")
    return server


def _name(release: str) -> str:
    """A build for a GPU is not one for the CPU."""
    arguments = os.environ.get("CMAKE_ARGS", "")
    return f"{release}-{crc32(arguments.encode()):08x}" if arguments else release


def _fetch(release: str, source: Path, folder: Path, children: Children) -> None:
    wanted = f"{_PACKAGE}=={release}"
    command = [sys.executable, "-m", "pip", "download", wanted, "--no-binary", _PACKAGE, "--no-deps", "--dest"]
    failed = _run([*command, str(folder)], folder, children)
    if failed:
        raise NetworkError(f"pip could not download the sources of {wanted}:\n{failed}")
    archive = next(folder.glob("*.tar.gz"))
    unpacked = folder / "unpacked"
    shutil.rmtree(unpacked, ignore_errors=True)
    with tarfile.open(archive) as tar:
        wanted_files = [member for member in tar if PurePosixPath(member.name).parts[1:3] == ("vendor", "llama.cpp")]
        tar.extractall(unpacked, wanted_files, filter="data")
    # Renamed last: a source that is there is whole.
    next(unpacked.glob("*/vendor/llama.cpp")).rename(source)
    shutil.rmtree(unpacked)
    archive.unlink()


def _compile(source: Path, folder: Path, children: Children) -> None:
    build = str(folder / "build")
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    own = shlex.split(os.environ.get("CMAKE_ARGS", ""))
    for command in (
        ["cmake", "-S", str(source), "-B", build, *generator, *_OPTIONS, *own],
        ["cmake", "--build", build, "--target", "llama-server", "--parallel", str(os.cpu_count() or 1)],
    ):
        failed = _run(command, folder, children)
        if failed:
            raise SpecdeskError(f"llama-server does not build ({shlex.join(command)}):\n{failed}")


def _run(command: Sequence[str], folder: Path, children: Children) -> str:
    """Run one step; returns "" or, where it failed, the last lines of what it said."""
    log = folder / "build.log"
    with log.open("wb") as output:
        code = children.start(command, output, with_its_own=True).wait()
    if not code:
        return ""
    children.check()
    return last_lines(log)
