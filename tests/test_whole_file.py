"""A file that is replaced is the old one or the new one, whole, with the rights it should have; no part is left."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from specdesk.whole_file import replace_whole


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty one."""
    path = tmp_path / "folder"
    path.mkdir()
    return path


@pytest.fixture
def umask() -> Iterator[None]:
    """The usual one, whoever runs this."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o7777


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@pytest.mark.usefixtures("umask")
def test_a_new_file_has_the_rights_of_any_other(folder: Path) -> None:
    replace_whole(folder / "new", b"1\r\n\0\xff")
    assert ((folder / "new").read_bytes(), mode(folder / "new")) == (b"1\r\n\0\xff", 0o644)
    assert names(folder) == ["new"]


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize("rights", [0o600, 0o640, 0o666, 0o755, 0o400])
def test_the_rights_of_the_old_file_stay_unless_others_are_named(folder: Path, rights: int) -> None:
    path = folder / "old"
    path.write_bytes(b"old")
    path.chmod(rights)
    replace_whole(path, b"new")
    assert (path.read_bytes(), mode(path)) == (b"new", rights)
    replace_whole(path, b"newer", mode=0o600)
    assert (path.read_bytes(), mode(path)) == (b"newer", 0o600)
    assert names(folder) == ["old"]


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize("named", [None, 0o600])
def test_the_part_of_a_private_file_is_private_too(
    folder: Path, named: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "old"
    path.touch(0o600)
    opened = os.open
    seen: list[int] = []

    def watched(place: Path, flags: int, rights: int) -> int:
        handle = opened(place, flags, rights)
        seen.append(os.fstat(handle).st_mode & 0o777)
        return handle

    monkeypatch.setattr(os, "open", watched)
    replace_whole(path, b"new", mode=named)
    assert seen == [0o600]


@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_stays_and_its_file_is_replaced_where_it_lies(folder: Path, tmp_path: Path, is_there: bool) -> None:
    real, middle, link = tmp_path / "real", folder / "middle", folder / "link"
    middle.symlink_to("../real")
    link.symlink_to(middle)
    if is_there:
        real.write_bytes(b"old")
    replace_whole(link, b"new")
    assert link.is_symlink()
    assert middle.is_symlink()
    assert not real.is_symlink()
    assert real.read_bytes() == b"new"
    assert names(folder) == ["link", "middle"]


@pytest.mark.parametrize("name", ["x" * 255, "漢" * 85, "\U0001f680" * 63, "\udcff" * 255], ids=["a", "b", "c", "d"])
def test_a_name_may_be_as_long_as_names_can_be(folder: Path, name: str) -> None:
    """Bug: the part of a file with a long name in other scripts than Latin had one that was longer yet."""
    for data in (b"old", b"new"):
        replace_whole(folder / name, data)
        assert (folder / name).read_bytes() == data
    assert names(folder) == [name]


_FULL_DISK = """
import resource, sys
from pathlib import Path
from specdesk.whole_file import replace_whole
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
try:
    replace_whole(Path(sys.argv[1]), b"x" * 10_000)
except OSError as error:
    print(error.errno)
"""


@pytest.mark.parametrize("name", ["old", "new"])
def test_a_write_that_fails_midway_leaves_what_was_there(folder: Path, name: str) -> None:
    (folder / "old").write_bytes(b"mine")
    done = subprocess.run(
        [sys.executable, "-c", _FULL_DISK, folder / name], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == f"{errno.EFBIG}\n"
    assert (folder / "old").read_bytes() == b"mine"
    assert names(folder) == ["old"]


@pytest.mark.parametrize("failing", ["fsync", "fchmod", "replace"])
@pytest.mark.parametrize("kind", [OSError, KeyboardInterrupt])
def test_whatever_stops_it_leaves_what_was_there(
    folder: Path, failing: str, kind: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "old"
    path.write_bytes(b"mine")
    path.chmod(0o640)

    def fail(*_: object) -> None:
        raise kind(errno.ENOSPC, "stopped here")

    monkeypatch.setattr(Path if failing == "replace" else os, failing, fail)
    with pytest.raises(kind, match="stopped here"):
        replace_whole(path, b"yours")
    assert (path.read_bytes(), mode(path)) == (b"mine", 0o640)
    assert names(folder) == ["old"]


def test_it_is_on_the_disk_before_it_takes_its_place(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "old"
    path.write_bytes(b"old")
    seen: list[tuple[bytes, bytes]] = []

    def watched(_handle: int) -> None:
        (part,) = folder.glob("*.part")
        seen.append((part.read_bytes(), path.read_bytes()))

    monkeypatch.setattr(os, "fsync", watched)
    replace_whole(path, b"new")
    assert seen == [(b"new", b"old")]


def test_what_is_no_file_stays_and_is_named(folder: Path) -> None:
    directory, pipe, loop, link = (folder / name for name in ("directory", "pipe", "loop", "to_pipe"))
    directory.mkdir()
    os.mkfifo(pipe)
    loop.symlink_to(loop)
    link.symlink_to(pipe)
    before = names(folder)
    for path, said in ((directory, "Is a directory"), (pipe, "no regular file"), (link, "no regular file")):
        with pytest.raises(OSError, match=said):
            replace_whole(path, b"x")
    with pytest.raises(OSError, match="symbolic links"):
        replace_whole(loop, b"x")
    assert names(folder) == before
    assert pipe.is_fifo()
    assert loop.is_symlink()


def test_a_device_behind_a_link_is_never_replaced(folder: Path) -> None:
    link = folder / "link"
    link.symlink_to(os.devnull)
    with pytest.raises(OSError, match="no regular file"):
        replace_whole(link, b"x")
    assert Path(os.devnull).is_char_device()


def test_the_folder_has_to_be_there(folder: Path) -> None:
    with pytest.raises(FileNotFoundError):
        replace_whole(folder / "none" / "new", b"x")
    assert names(folder) == []


_REPLACE = """
import sys
from pathlib import Path
from specdesk.whole_file import replace_whole
path, letter = Path(sys.argv[1]), sys.argv[2].encode()
print("ready", flush=True)
sys.stdin.readline()
for _ in range(100):
    replace_whole(path, letter * 100_000)
"""


def test_of_two_processes_at_once_one_is_last_and_readers_find_one_of_them_whole(folder: Path) -> None:
    path = folder / "shared"
    path.write_bytes(b"o" * 100_000)
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", _REPLACE, path, letter], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for letter in "ab"
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    whole = {letter * 100_000 for letter in (b"a", b"b", b"o")}
    while any(writer.poll() is None for writer in writers):
        assert path.read_bytes() in whole
    for writer in writers:
        writer.communicate()
        assert writer.returncode == 0
    assert path.read_bytes() in whole - {b"o" * 100_000}
    assert names(folder) == ["shared"]
