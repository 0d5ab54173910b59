"""Split models on this disk: loaded through their first file, and only when all files are here."""

from __future__ import annotations

from pathlib import Path

import pytest

from specdesk.errors import ModelError
from specdesk.hub.here.origin import Origin, keep_origin
from specdesk.hub.here.whole import whole
from tests.tiny.gguf_stubs import write_stub


def split(folder: Path, *numbers: int) -> list[Path]:
    return [write_stub(folder / f"big-0000{number}-of-00003.gguf", n_parts=3) for number in numbers]


def test_any_file_of_it_means_the_first(tmp_path: Path) -> None:
    first, second, third = split(tmp_path, 1, 2, 3)
    assert [whole(path) for path in (first, second, third)] == [first] * 3


def test_what_is_whole_means_itself(tmp_path: Path) -> None:
    for name in ("best-of-breed.gguf", "renamed-00002-of-00003.gguf", "renamed-00001-of-00004.gguf"):
        path = write_stub(tmp_path / name)
        assert whole(path) == path
    nowhere = tmp_path / "nowhere-00001-of-00003.gguf"
    assert whole(nowhere) == nowhere


@pytest.mark.parametrize("numbers", [(1, 2), (2, 3), (1, 3)])
def test_a_file_that_is_missing_is_named(tmp_path: Path, numbers: tuple[int, ...]) -> None:
    (missing,) = {1, 2, 3} - set(numbers)
    for path in split(tmp_path, *numbers):
        with pytest.raises(ModelError) as caught:
            whole(path)
        assert caught.value.message == (
            f"{path} cannot be loaded: incomplete: 2 of 3 parts; big-0000{missing}-of-00003.gguf is missing"
        )
        assert caught.value.hint == "put it beside the others"


def test_where_it_came_from_is_where_the_rest_is(tmp_path: Path) -> None:
    first, _second = split(tmp_path, 1, 2)
    keep_origin(first, Origin("hf:owner/big/big-00001-of-00003.gguf", "", None, None))
    with pytest.raises(ModelError) as caught:
        whole(first)
    assert caught.value.hint == "fetch it with: specdesk download hf:owner/big/big-00001-of-00003.gguf"
