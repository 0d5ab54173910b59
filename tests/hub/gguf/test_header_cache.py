"""What was read of model files is kept for later, and believed only of files that are as they were."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from specdesk.hub.gguf.header import GgufHeader, read_header
from specdesk.hub.gguf.header_cache import HeaderCache
from specdesk.hub.here.local_models import LocalModel, library_here
from specdesk.paths import headers_file, models_dir
from tests.tiny.gguf_stubs import write_stub

N_MANY = 300


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files whose headers were read."""
    seen: list[Path] = []

    def counted(path: Path) -> GgufHeader:
        seen.append(path)
        return read_header(path)

    monkeypatch.setattr("specdesk.hub.here.local_models.read_header", counted)
    return seen


def listed() -> list[LocalModel]:
    """As another process would list them."""
    return list(library_here().models())


def test_another_process_reads_only_what_changed(read: list[Path]) -> None:
    a, b = (write_stub(models_dir() / f"{name}.gguf", name) for name in "ab")
    first = listed()
    assert read == [a, b]
    assert listed() == first
    assert read == [a, b]
    write_stub(b, "other")
    assert [model.name for model in listed()] == ["a", "other"]
    assert read == [a, b, b]


def test_a_file_of_the_same_size_is_told_by_its_time(read: list[Path]) -> None:
    path = write_stub(models_dir() / "a.gguf", "one")
    assert [model.name for model in listed()] == ["one"]
    changed_ns = path.stat().st_mtime_ns + 1
    write_stub(path, "two")
    os.utime(path, ns=(changed_ns, changed_ns))
    assert [model.name for model in listed()] == ["two"]


def test_a_file_of_the_same_time_is_told_by_its_size(read: list[Path]) -> None:
    """Copies keep the time of what they are copies of."""
    path = write_stub(models_dir() / "a.gguf", "one")
    assert [model.name for model in listed()] == ["one"]
    same_ns = path.stat().st_mtime_ns
    write_stub(path, "another")
    os.utime(path, ns=(same_ns, same_ns))
    assert [model.name for model in listed()] == ["another"]


def test_a_projector_stays_one_and_its_removal_changes_no_other(read: list[Path]) -> None:
    write_stub(models_dir() / "model.gguf")
    projector = write_stub(models_dir() / "mmproj.gguf", architecture="clip", purpose="mmproj", words=[])
    for _ in range(2):
        assert {model.path.name: model.problem for model in listed()} == {
            "mmproj.gguf": "it is no language model but what goes with one (mmproj)",
            "model.gguf": "",
        }
    projector.unlink()
    assert [(model.path.name, model.problem) for model in listed()] == [("model.gguf", "")]


def _replaced(key: str, value: object) -> Callable[[str], str]:
    return lambda text: json.dumps(json.loads(text) | {key: value})


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[:40],
        lambda text: "\0" * len(text),
        lambda text: "[" * 100_000,
        lambda text: text.replace('"size"', '"width"'),
        lambda text: text.replace('"architecture":"llama"', '"architecture":7'),
        _replaced("headers", []),
        _replaced("writer", "specdesk 0.0.1, 1"),
    ],
)
def test_a_damaged_record_is_read_anew_and_mended(damage: Callable[[str], str], read: list[Path]) -> None:
    write_stub(models_dir() / "a.gguf")
    first = listed()
    whole = headers_file().read_text()
    headers_file().write_text(damage(whole))
    assert listed() == first
    assert len(read) == 2
    assert headers_file().read_text() == whole


def test_bytes_that_are_no_text_are_no_record() -> None:
    path = write_stub(models_dir() / "a.gguf")
    headers_file().write_bytes(b'{"writer":"\xff\xfe","headers":{}}')
    assert [model.path for model in listed()] == [path]


def test_where_it_cannot_be_kept_everything_is_read_again(read: list[Path]) -> None:
    write_stub(models_dir() / "a.gguf")
    headers_file().mkdir()
    assert [listed()[0].problem, listed()[0].problem] == ["", ""]
    assert len(read) == 2


def test_two_at_once_both_keep_theirs() -> None:
    """Each has read its record before the other one wrote."""
    paths = [write_stub(models_dir() / f"{name}.gguf", name) for name in "ab"]
    caches = [HeaderCache(headers_file()) for _ in paths]
    for path, cache in zip(paths, caches, strict=True):
        assert cache.get(path, (0, 0)) is None
        cache.put(path, (1, 2), read_header(path))
    for cache in caches:
        cache.save()
    later = HeaderCache(headers_file())
    assert [later.get(path, (1, 2)) is not None for path in paths] == [True, True]


def test_many_at_once_leave_a_whole_record() -> None:
    path = write_stub(models_dir() / "a.gguf")
    header = read_header(path)

    def keep() -> None:
        for number in range(20):
            cache = HeaderCache(headers_file())
            cache.put(path, (number, number), header)
            cache.save()
            assert HeaderCache(headers_file())._read(), "what is there is whole at any time"

    threads = [threading.Thread(target=keep) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [file.name for file in headers_file().parent.iterdir() if "headers" in file.name] == ["headers.json"]


def test_files_that_are_gone_are_let_go() -> None:
    gone = write_stub(models_dir() / "gone.gguf")
    listed()
    gone.unlink()
    write_stub(models_dir() / "new.gguf")
    listed()
    assert [Path(path).name for path in json.loads(headers_file().read_text())["headers"]] == ["new.gguf"]


def test_a_search_that_is_left_keeps_what_it_read(read: list[Path]) -> None:
    for name in "ab":
        write_stub(models_dir() / f"{name}.gguf")
    left = library_here().models()
    next(left)
    left.close()  # type: ignore[attr-defined]
    read.clear()
    listed()
    assert [path.name for path in read] == ["b.gguf"]


def test_names_in_another_encoding_are_read_each_time(read: list[Path]) -> None:
    path = models_dir() / os.fsdecode(b"\xff.gguf")
    try:
        write_stub(path)
    except OSError:
        pytest.skip("this file system has names in UTF-8 only")
    assert [model.problem for _ in range(2) for model in listed()] == ["", ""]
    assert len(read) == 2


def test_three_hundred_known_files_are_listed_in_under_a_second(tmp_path: Path, read: list[Path]) -> None:
    """None is read again, and looking at them takes little: CPU time, which other programs do not lengthen."""
    content = write_stub(tmp_path / "one.gguf").read_bytes()
    folder = models_dir() / "many"
    folder.mkdir(parents=True)
    for number in range(N_MANY):
        (folder / f"m{number:03}.gguf").write_bytes(content)
    assert len(listed()) == len(read) == N_MANY
    read.clear()
    began_s = time.process_time()
    models = listed()
    elapsed_s = time.process_time() - began_s
    assert [model.problem for model in models] == [""] * N_MANY
    assert read == []
    assert elapsed_s < 1
