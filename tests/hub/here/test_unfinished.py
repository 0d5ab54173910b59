"""What has come of downloads that ended early is found, by any of the names it can be meant by."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from specdesk.errors import UsageError
from specdesk.hub.here.unfinished import named_unfinished, unfinished_beside, unfinished_here
from specdesk.paths import models_dir

SHARDS = tuple(f"owner/big/q4/big-0000{number}-of-00003.gguf" for number in (1, 2, 3))
FILE, ELSEWHERE = "owner/toy/Toy.gguf", "host_8080/some/where/toy.GGUF"


def leave(name: str, n_bytes: int = 100) -> Path:
    part = models_dir() / f"{name}.part"
    part.parent.mkdir(parents=True, exist_ok=True)
    part.write_bytes(b"x" * n_bytes)
    return part


def meant(wanted: str) -> list[str]:
    return [str(one.path.relative_to(models_dir())) for one in named_unfinished(unfinished_here(), wanted)]


def test_all_are_found_wherever_they_lie_with_what_is_here() -> None:
    for name in (FILE, ELSEWHERE):
        leave(name)
    leave(SHARDS[1], 0)
    assert [(one.path, one.part, one.here_bytes) for one in unfinished_here()] == [
        (models_dir() / name, models_dir() / f"{name}.part", n_bytes)
        for name, n_bytes in ((ELSEWHERE, 100), (SHARDS[1], 0), (FILE, 100))
    ]


def test_without_a_folder_there_are_none() -> None:
    assert unfinished_here() == ()


def test_what_is_no_part_of_a_model_is_none(tmp_path: Path) -> None:
    leave("owner/toy/notes.txt")
    leave("owner/toy/headers.json.0123")
    (models_dir() / "owner" / "toy" / "dir.gguf.part").mkdir()
    (models_dir() / "owner" / "toy" / "link.gguf.part").symlink_to(leave("owner/toy/notes.txt"))
    os.mkfifo(models_dir() / "owner" / "toy" / "pipe.gguf.part")
    assert unfinished_here() == ()


def test_a_path_means_one_and_a_name_the_only_one() -> None:
    leave(FILE)
    for wanted in ("toy", "TOY.gguf", "toy.gguf.part"):
        assert meant(wanted) == [FILE]
    leave(ELSEWHERE)
    for wanted in (f"{models_dir()}/{FILE}", f"{models_dir()}/{FILE}.part", f"{models_dir()}/owner/../{FILE}"):
        assert meant(wanted) == [FILE]
    with pytest.raises(UsageError, match=f'several unfinished downloads are called "toy" .*{FILE}'):
        meant("toy")
    assert meant("to") == meant("") == meant(str(models_dir())) == []


@pytest.mark.parametrize("shard", SHARDS)
def test_of_a_split_model_all_are_meant(shard: str) -> None:
    for name in (*SHARDS, FILE, "other/big/q4/big-00001-of-00003.gguf"):
        leave(name)
    assert meant(f"{models_dir()}/{shard}") == list(SHARDS)
    beside = unfinished_beside(unfinished_here(), models_dir() / shard)
    assert [str(one.path.relative_to(models_dir())) for one in beside] == list(SHARDS)
