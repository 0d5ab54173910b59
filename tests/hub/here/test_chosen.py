"""Which models are to be loaded, and what is kept of it for the next start."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from specdesk.cli.chosen_models import intended_or_last
from specdesk.cli.options.models import Models
from specdesk.errors import StorageError, UsageError
from specdesk.hub.here.chosen import Chosen, absent, of_pair, remember, remembered
from specdesk.hub.here.on_disk import file_path
from specdesk.hub.manifest import Manifest
from tests.hub.samples import CONTENT, artifact_of, pair_of

PAIR = pair_of(artifact_of(name="target"), artifact_of(name="draft"))
MANIFEST = Manifest(PAIR.name, PAIR.artifacts, (PAIR,))


def test_a_pair_is_absent_until_both_files_are_here() -> None:
    chosen = of_pair(PAIR)
    assert chosen.pair == "toy-pair"
    for artifact in PAIR.artifacts:
        assert absent(chosen, MANIFEST) == PAIR
        path = file_path(artifact, artifact.files[0])
        path.parent.mkdir(parents=True)
        path.write_bytes(CONTENT)
    assert absent(chosen, MANIFEST) is None


def test_files_are_never_fetched() -> None:
    assert absent(Chosen(None, Path("nowhere.gguf"), None), MANIFEST) is None


@pytest.mark.parametrize(
    "chosen",
    [
        of_pair(PAIR),
        Chosen(None, Path("/models/[b + 1.gguf"), Path("/models/draft.gguf")),
        Chosen(None, Path("/models/日本語.gguf"), None),
    ],
    ids=["pair", "two files", "one file"],
)
def test_what_was_chosen_is_remembered(chosen: Chosen, home: Path) -> None:
    chosen = of_pair(PAIR) if chosen.pair else chosen  # whose files lie in this test's home
    assert remembered(MANIFEST) is None
    remember(chosen)
    assert remembered(MANIFEST) == chosen
    assert [entry.name for entry in home.iterdir()] == ["chosen.json"]


def test_relative_paths_hold_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    remember(Chosen(None, Path("a.gguf"), Path("b.gguf")))
    monkeypatch.chdir(os.sep)
    assert remembered(MANIFEST) == Chosen(None, tmp_path / "a.gguf", tmp_path / "b.gguf")


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "7", "{}", '{"pair": "no-such-pair"}', '{"pair": 7}', '{"target": 7, "draft": null}', "[" * 10_000],
)
def test_a_damaged_record_is_said_and_replaced_by_the_next_choice(home: Path, text: str) -> None:
    home.mkdir()
    path = home / "chosen.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=re.escape(f"cannot be read: {path}: ")):
        remembered(MANIFEST)
    chosen, note = intended_or_last(Models(no_download=False))
    assert (chosen.pair, str(path) in note) == ("qwen2.5-coder-1.5b", True)
    remember(of_pair(PAIR))
    assert remembered(MANIFEST) == of_pair(PAIR)


def test_a_pipe_in_its_place_is_not_waited_for(home: Path) -> None:
    home.mkdir()
    os.mkfifo(home / "chosen.json")
    assert remembered(MANIFEST) is None


def test_a_link_to_another_place_stays(home: Path, tmp_path: Path) -> None:
    """Bug: the next choice put a file in the place of the link."""
    home.mkdir()
    real, link = tmp_path / "dotfiles.json", home / "chosen.json"
    link.symlink_to(real)
    for _ in range(2):
        remember(of_pair(PAIR))
        assert link.is_symlink()
        assert remembered(MANIFEST) == of_pair(PAIR)
    assert real.is_file()


def test_a_disk_that_refuses_says_so(home: Path) -> None:
    home.write_text("in the way")
    with pytest.raises(StorageError, match=rf"cannot be kept for the next start: {re.escape(str(home))}.*--target"):
        remember(of_pair(PAIR))
