"""Files and folders that are used where they lie."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from specdesk.errors import StorageError, UsageError
from specdesk.hub.here.added import add, added_paths, forget, holder_of
from specdesk.hub.here.local_models import library_here
from specdesk.paths import added_file, models_dir
from tests.tiny.gguf_stubs import write_stub


def listed() -> dict[str, tuple[str, Path | None]]:
    return {model.path.name: (model.problem, model.added) for model in library_here().models()}


def test_what_was_added_is_listed_behind_the_models_folder(tmp_path: Path) -> None:
    write_stub(models_dir() / "own.gguf")
    file, folder = write_stub(tmp_path / "elsewhere" / "x.gguf"), tmp_path / "many"
    write_stub(folder / "deep" / "y.gguf")
    write_stub(folder / "mmproj-y.gguf", architecture="clip", purpose="mmproj", words=[])
    assert (add(file), add(folder), add(folder)) == (True, True, False)
    assert added_paths() == (file, folder)
    assert listed() == {
        "own.gguf": ("", None),
        "x.gguf": ("", file),
        "mmproj-y.gguf": ("it is no language model but what goes with one (mmproj)", folder),
        "y.gguf": ("", folder),
    }


def test_what_is_gone_is_flagged_and_comes_back(tmp_path: Path) -> None:
    file = write_stub(tmp_path / "x.gguf")
    add(file)
    add(tmp_path / "disk")
    file.rename(tmp_path / "kept")
    said = "it was added, and is not there now"
    assert listed() == {"x.gguf": (said, file), "disk": (said, tmp_path / "disk")}
    (tmp_path / "kept").rename(file)
    write_stub(tmp_path / "disk" / "y.gguf")
    assert listed() == {"x.gguf": ("", file), "y.gguf": ("", tmp_path / "disk")}


def test_a_file_in_two_places_is_listed_once(tmp_path: Path) -> None:
    own = write_stub(models_dir() / "own.gguf")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "link.gguf").symlink_to(own)
    add(tmp_path / "links")
    assert list(listed()) == ["own.gguf"]


def test_a_folder_that_may_not_be_looked_into_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "locked"
    folder.mkdir()
    add(folder)
    scandir = os.scandir

    def guarded(path: str | Path) -> object:
        if Path(path) == folder:
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    assert listed() == {"locked": ("it cannot be looked into: Permission denied", folder)}


def test_paths_are_kept_absolute_and_links_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    monkeypatch.chdir(tmp_path / "real")
    add(Path("../link"))
    assert added_paths() == (tmp_path / "link",)
    assert holder_of(Path("../link/x.gguf")) == tmp_path / "link"
    assert forget(Path("../real/../link"))
    assert not forget(Path("../link"))
    assert added_paths() == ()


def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not UTF-8"):
        add(tmp_path / os.fsdecode(b"\xff"))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "Input data was truncated"),
        (b'{"version":1,"paths":[1]}', "Expected `str`, got `int`"),
        (b'{"version":1,"path":[]}', "unknown field `path`"),
        (b'{"version":2,"paths":[]}', "it is of version 2, and this specdesk reads 1"),
        (b'{"version":1,"paths":' + b"[" * 100_000, "Expected `str`, got `array`"),
        (b'{"version":1,"paths":["\xff"]}', "Invalid UTF-8"),
    ],
)
def test_a_damaged_record_is_said_and_kept(content: bytes, said: str, tmp_path: Path) -> None:
    write_stub(models_dir() / "own.gguf")
    added_file().write_bytes(content)
    models = {model.path.name: model.problem for model in library_here().models()}
    assert models.pop("own.gguf") == ""
    assert said in models.pop("added.json")
    for change in (add, forget):
        with pytest.raises(StorageError, match="mend it, or delete it"):
            change(tmp_path)
    assert added_file().read_bytes() == content


def test_those_who_add_at_once_lose_nothing(tmp_path: Path) -> None:
    def add_many(who: int) -> None:
        for number in range(10):
            add(tmp_path / f"{who}-{number}")

    threads = [threading.Thread(target=add_many, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(added_paths()) == 40
    assert json.loads(added_file().read_text())["version"] == 1
