"""Makes or mends .venv, then becomes the command that was asked for.

    install.py WANTED GROUP PYTHON COMMAND [ARGUMENT ...]

Only scripts/in-venv calls it: that file documents the environment variables, and has found that .venv does
not serve as it is. WANTED is the stamp's first line, GROUP what must be installed beside specdesk, PYTHON the
interpreter to make .venv with.

Promises: the stamp is written last, so an install that was cut off is made again from nothing; two starts
take turns; a failure is one line on stderr with the reason, and the whole output is in .venv/install.log; a
compiled llama-cpp-python is kept in .venv/specdesk/wheels, so it is not compiled twice; what is optional
never fails an install. Not handled: Windows.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NoReturn

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
OURS = VENV / "specdesk"
STAMP = OURS / "stamp"
WHEELS = OURS / "wheels"
LOG = VENV / "install.log"

GROUPS = ("runtime", "test", "dev")
"""Each holds the ones before it."""

ENGINE = "llama-cpp-python"
COMPILING = f"Building wheel for {ENGINE}"
OFFLINE = re.compile(r"Failed to establish a new connection|NameResolutionError|ProxyError|(Connect|Read)Timeout")
STILL_THERE_S = 60
"""Without a terminal, a long step is heard of this often."""


class InstallError(Exception):
    """One line for the user."""


class StoppedError(Exception):
    """A signal asked us to end."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@dataclass(frozen=True)
class Stamp:
    """What a finished .venv was made for. One line each; scripts/in-venv reads it, too."""

    wanted: str
    groups: str
    python: str
    cmake_args: str

    @classmethod
    def read(cls) -> Stamp | None:
        """The stamp of .venv, or None where there is no finished one."""
        try:
            return cls(*STAMP.read_text().splitlines())
        except (FileNotFoundError, TypeError):
            return None

    def write(self) -> None:
        """Says that .venv is finished."""
        draft = STAMP.with_suffix(".new")
        draft.write_text(f"{self.wanted}\n{self.groups}\n{self.python}\n{self.cmake_args}\n")
        draft.replace(STAMP)


def say(text: str) -> None:
    """One line to the user; stdout belongs to the command."""
    sys.stderr.write(f"specdesk: {text}\n")
    sys.stderr.flush()


def clock(seconds: float) -> str:
    """Minutes and seconds, as 4:05."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


# --- running pip ---


def pip_environment() -> dict[str, str]:
    """The user's environment, less what would lead pip away from .venv or make it ask questions."""
    astray = {"PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PYTHONHOME"}
    inherited = {name: value for name, value in os.environ.items() if name not in astray}
    return {
        "CMAKE_BUILD_PARALLEL_LEVEL": str(os.cpu_count() or 1),  # plain make would use one core
        **inherited,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INPUT": "1",
        "PIP_USER": "0",
        "NO_COLOR": "1",
    }


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a step with everything it started, and waits for it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=5)
            return


def watch(process: subprocess.Popen[bytes], written: IO[bytes], what: str) -> None:
    """Waits for a step; meanwhile says when it compiles, and how long it has taken."""
    start = heard = time.monotonic()
    compiling = False
    tail = b""
    while process.poll() is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=1)
        tail = tail[-len(COMPILING) :] + written.read()
        now = time.monotonic()
        if not compiling and COMPILING.encode() in tail and process.poll() is None:
            compiling = True
            what = f"compiling {ENGINE}"
            options = f" with CMAKE_ARGS={cmake_args()}" if cmake_args() else ""
            say(f"{what}{options} (once): about 5 minutes on 2 cores")
        if sys.stderr.isatty():
            sys.stderr.write(f"\r  {clock(now - start)}\r")
            sys.stderr.flush()
        elif now - heard >= STILL_THERE_S:
            heard = now
            say(f"still {what}, {clock(now - start)}")
    if sys.stderr.isatty():
        sys.stderr.write("\r        \r")


def step(what: str, *command: str | Path, may_fail: bool = False) -> bool:
    """Runs one command with its output in the log.

    Raises: InstallError with the reason found in the log, unless it may fail.
    """
    with LOG.open("ab") as log, LOG.open("rb") as written:
        log.write(f"\n$ {shlex.join(map(str, command))}\n".encode())
        log.flush()
        written.seek(0, os.SEEK_END)
        begin = written.tell()
        process = subprocess.Popen(
            [str(word) for word in command],
            cwd=ROOT,
            env=pip_environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # so that one signal ends the compilers, too
        )
        try:
            watch(process, written, what)
        except BaseException:
            end(process)
            raise
        if process.returncode and not may_fail:
            written.seek(begin)
            output = written.read().decode(errors="replace")
            raise InstallError(f"{what} failed: {reason(output)}; everything it said is in {LOG}")
    return not process.returncode


def reason(output: str) -> str:
    """The line of a failed step that says why, as well as that can be told."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if OFFLINE.search(output):
        return "no connection to the package index"
    for line, following in zip(lines, [*lines[1:], ""], strict=False):
        if line.startswith("CMake Error"):
            return f"{line} {following}"
        if re.search(r"\S: (fatal )?error: ", line):
            return line
    for line in reversed(lines):
        if line.startswith(("ERROR:", "error:", "OSError:")):
            return line.partition(": ")[2]
    return lines[-1] if lines else "it said nothing"


def pip(what: str, *arguments: str | Path, may_fail: bool = False) -> bool:
    """A step with the pip of .venv."""
    return step(what, VENV / "bin" / "python", "-m", "pip", *arguments, may_fail=may_fail)


# --- the compiler ---


def missing_compilers() -> list[str]:
    """Which of C and C++ cannot be compiled here, by the names CMake looks for."""
    arguments = os.environ.get("CMAKE_ARGS", "")
    languages = (
        ("C", "CC", "CMAKE_C_COMPILER", ("cc", "gcc", "clang")),
        ("C++", "CXX", "CMAKE_CXX_COMPILER", ("c++", "g++", "clang++")),
    )
    missing = []
    for language, variable, option, usual in languages:
        named = shlex.split(os.environ.get(variable, ""))[:1]
        found = [path for name in named or usual if (path := shutil.which(name))]
        if sys.platform == "darwin" and not named and found and not command_line_tools():
            found = []
        if not found and option not in arguments:
            missing.append(language)
    return missing


def command_line_tools() -> bool:
    """On macOS /usr/bin/cc is always there, but only asks to install the real one."""
    with contextlib.suppress(FileNotFoundError):
        return not subprocess.run(["xcode-select", "-p"], capture_output=True, check=False).returncode
    return False


def need_compiler() -> None:
    """Raises InstallError, with what to install, where the engine cannot be compiled."""
    missing = missing_compilers()
    only_binary = re.split(r"[\s,]+", os.environ.get("PIP_ONLY_BINARY", "").replace("_", "-"))
    if not missing or {":all:", ENGINE} & set(only_binary):
        return
    sudo = "sudo " if os.geteuid() else ""
    managers = {
        "apt-get": f": {sudo}apt install build-essential",
        "dnf": f": {sudo}dnf install gcc-c++",
        "pacman": f": {sudo}pacman -S base-devel",
        "zypper": f": {sudo}zypper install gcc-c++",
        "apk": f": {sudo}apk add build-base linux-headers",
    }
    how = next((how for name, how in managers.items() if shutil.which(name)), " gcc and g++, or clang")
    if sys.platform == "darwin":
        how = ": xcode-select --install"
    compilers = " or ".join(missing) + " compiler"
    raise InstallError(f"no {compilers} found, and {ENGINE} has to be compiled; install{how}")


# --- the steps ---


def cmake_args() -> str:
    """CMAKE_ARGS on one line, as the stamp keeps it."""
    return " ".join(os.environ.get("CMAKE_ARGS", "").splitlines())


def remember_cmake_args() -> None:
    """Where CMAKE_ARGS is not set, uses that of the last build: no later install drops the GPU in silence."""
    if "CMAKE_ARGS" not in os.environ and (last := built_with()):
        os.environ["CMAKE_ARGS"] = last


def built_with() -> str | None:
    """The CMAKE_ARGS of the engine in WHEELS, or None where there is none."""
    note = WHEELS / "cmake_args"
    return note.read_text() if note.is_file() else None


def forget(*kept: str) -> None:
    """Empties .venv but for what is named."""
    for child in VENV.iterdir():
        if child.name in kept:
            continue
        if child.is_dir() and not child.is_symlink():
            shutil.rmtree(child)
        else:
            child.unlink()


def kept_engines() -> list[Path]:
    """The engines kept from an earlier install with the same CMAKE_ARGS."""
    return sorted(WHEELS.glob("llama_cpp_python-*.whl")) if built_with() == cmake_args() else []


def install_engine(*, rebuild: bool) -> None:
    """Installs llama-cpp-python: what is there, else what was kept, else compiled and then kept."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirement = next(item for item in project["dependencies"] if item.startswith(ENGINE))
    installed = any(VENV.glob("lib/python*/site-packages/llama_cpp_python-*.dist-info"))
    kept = kept_engines()
    what = f"installing {ENGINE}"
    if installed or kept:
        ready = ["install", "--no-index", "--no-deps", "--find-links", WHEELS, requirement]
        if pip(what, *ready, may_fail=True):
            return
    need_compiler()
    shutil.rmtree(WHEELS, ignore_errors=True)
    WHEELS.mkdir()
    say(what)
    # pip's cache of wheels does not know what CMAKE_ARGS they were compiled with.
    fresh = ["--no-cache-dir"] if rebuild or cmake_args() else []
    source = ["--no-binary", ENGINE] if cmake_args() else []
    pip(what, "wheel", "--no-deps", *fresh, *source, "--wheel-dir", WHEELS, requirement)
    (WHEELS / "cmake_args").write_text(cmake_args())
    pip(what, "install", "--no-index", "--no-deps", "--find-links", WHEELS, requirement)


def serves(stamp: Stamp | None, wanted: str, group: str, command: str) -> bool:
    """Whether another start has made .venv ready while this one waited."""
    return (
        stamp is not None
        and stamp.wanted == wanted
        and group in stamp.groups.split()
        and os.environ.get("SPECDESK_PYTHON", stamp.python) in ("", stamp.python)
        and os.access(VENV / "bin" / "python", os.X_OK)
        and os.access(VENV / "bin" / command, os.X_OK)
    )


def outlived(stamp: Stamp | None, wanted: str) -> str:
    """Why .venv must be made from nothing, or "" where it can be brought up to date."""
    if stamp is None:
        return "the last install did not finish" if (VENV / "pyvenv.cfg").exists() else "once"
    if not os.access(VENV / "bin" / "python", os.X_OK):
        return "its Python is gone"
    if stamp.wanted.split(" ", 2)[2:] != wanted.split(" ", 2)[2:]:
        return "the checkout was moved"
    if os.environ.get("SPECDESK_PYTHON", "") not in ("", stamp.python):
        return "SPECDESK_PYTHON is another"
    return ""


def install(wanted: str, group: str, python: str, command: str) -> None:
    """Brings .venv to the state that is wanted; the caller holds the lock."""
    start = time.monotonic()
    stamp = Stamp.read()
    rebuild = bool(os.environ.get("SPECDESK_REBUILD"))
    if not rebuild and serves(stamp, wanted, group, command):
        return
    if not rebuild:
        remember_cmake_args()
    groups = {group, *(stamp.groups.split() if stamp else ())}
    level = max(GROUPS.index(name) for name in groups)
    afresh = "SPECDESK_REBUILD is set" if rebuild else outlived(stamp, wanted)
    asked = os.environ.get("SPECDESK_PYTHON", "") or (stamp.python if stamp and not afresh else "")
    if afresh and (rebuild or not kept_engines()):
        need_compiler()
    STAMP.unlink(missing_ok=True)
    if afresh:
        make(python, afresh, rebuild=rebuild)
    else:
        LOG.write_bytes(b"")
    try:
        fill(level, command, rebuild=rebuild)
    except InstallError:
        if stamp and not afresh:
            stamp.write()  # pip has put everything back: the next start tries again from here
        raise
    Stamp(wanted, " ".join(GROUPS[: level + 1]), asked, built_with() or "").write()
    say(f"ready after {clock(time.monotonic() - start)}")


def make(python: str, why: str, *, rebuild: bool) -> None:
    """Makes an empty .venv, keeping of the old one only what is ours."""
    if rebuild:
        shutil.rmtree(WHEELS, ignore_errors=True)
    forget(OURS.name)
    say(f"making .venv with {Path(python).name} ({why})")
    step("making .venv", python, "-m", "venv", VENV)
    pip("updating pip", "install", "pip>=25.1")  # the first that knows --group


def fill(level: int, command: str, *, rebuild: bool) -> None:
    """Installs the engine, then specdesk and the group of this level, into .venv."""
    install_engine(rebuild=rebuild)
    beside = ["--group", GROUPS[level]] if level else []
    what = "installing specdesk" + (f" and its {GROUPS[level]} group" if level else "")
    say(what)
    pip(what, "install", "--editable", ".", *beside)
    step(f"loading {ENGINE}", VENV / "bin" / "python", "-c", "import llama_cpp")
    if not os.access(VENV / "bin" / command, os.X_OK):
        raise InstallError(f"{command} is not in .venv, though all was installed")
    install_second_library()


def install_second_library() -> None:
    """Installs ik_llama.cpp where there is a ready wheel of it; specdesk does without it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for requirement in project.get("optional-dependencies", {}).get("ik", []):
        wheel = ["install", "--only-binary", ":all:", "--no-deps", requirement]
        if not pip("installing ik_llama.cpp", *wheel, may_fail=True):
            say("no ready ik_llama.cpp for this system; going on without it")


def take() -> None:
    """Makes .venv ours, unless it was made by someone else, by hand say: that one we do not empty unasked."""
    if VENV.is_dir() and any(VENV.iterdir()) and not OURS.is_dir() and not os.environ.get("SPECDESK_REBUILD"):
        raise InstallError(f"{VENV} is not ours; move it, or have it replaced with SPECDESK_REBUILD=1")
    OURS.mkdir(parents=True, exist_ok=True)


@contextlib.contextmanager
def turn() -> Iterator[None]:
    """Holds the lock of .venv. The system lets go of it however we end."""
    with (OURS / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another start is installing into .venv; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError:
            say("this file system has no locks: let no second install start before this one ends")
        yield


def stop(number: int, _frame: object) -> NoReturn:
    """Signal handler: unwinds, so that what we started ends with us."""
    raise StoppedError(number)


def main(arguments: list[str]) -> int:
    """Installs, then becomes the command; returns an exit code only where that failed."""
    wanted, group, python, command, *rest = arguments
    environment = {name: value for name, value in os.environ.items() if name != "SPECDESK_REBUILD"}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, stop)
    try:
        take()
        with turn():
            install(wanted, group, python, command)
    except InstallError as error:
        say(str(error))
        return 1
    except OSError as error:
        say(f"cannot make .venv: {error}")
        return 1
    except StoppedError as error:
        say("interrupted; the next start makes .venv again")
        return 128 + error.number
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it; the command decides for itself
    program = str(VENV / "bin" / command)  # its own name too: a Python finds its environment by it
    os.execve(program, [program, *rest], environment)  # noqa: S606
    raise AssertionError("execve does not return")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
