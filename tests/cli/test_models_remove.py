"""`specdesk models remove` from the shell."""

from __future__ import annotations

from pathlib import Path

import pexpect
import pytest
from filelock import FileLock

from specdesk.hub.artifacts import Artifact, Pair
from specdesk.hub.here.added import add
from specdesk.hub.here.on_disk import file_path
from specdesk.hub.here.origin import Origin, keep_origin
from specdesk.hub.manifest import load_manifest
from specdesk.paths import models_dir
from tests.cli.shell import COMMAND, TIMEOUT_S, lines
from tests.cli.test_models import models, put
from tests.tiny.gguf_stubs import write_stub

PAIR, SHARING = (load_manifest().pair(name) for name in ("qwen2.5-coder-7b", "qwen2.5-coder-14b"))


def place(artifact: Artifact) -> Path:
    return file_path(artifact, artifact.files[0])


def put_pair(pair: Pair) -> tuple[Path, Path]:
    target, draft = map(put, pair.artifacts)
    return target, draft


def test_a_pair_is_removed_whole_with_what_had_come_of_it() -> None:
    target, draft = put_pair(PAIR)
    target.unlink()
    part = target.with_name(f"{target.name}.part")
    part.write_bytes(b"x" * 1000)
    done = models("remove", PAIR.name, "--yes")
    assert (done.returncode, done.stdout) == (0, "")
    assert lines(done.stderr) == [
        f"specdesk: deleted: {part}",
        f"specdesk: deleted: {draft}",
        "specdesk: 675.7 MB freed",
    ]
    assert list(models_dir().iterdir()) == [], "empty folders go too"
    done = models("remove", PAIR.name, "--yes")
    assert (done.returncode, lines(done.stderr)) == (
        2,
        [f"specdesk: nothing of the pair {PAIR.name} is on this disk"],
    )


def test_what_another_pair_needs_stays_unless_it_is_said() -> None:
    target, draft = put_pair(PAIR)
    other = put(SHARING.target)
    done = models("remove", PAIR.name, "--yes")
    assert done.returncode == 0
    stays = f"specdesk: {draft} stays: the pair {SHARING.name} needs it too; --shared deletes it all the same"
    assert lines(done.stderr)[0] == stays
    assert (target.exists(), draft.exists(), other.exists()) == (False, True, True)
    assert lines(models("remove", PAIR.name, "--yes").stderr) == [stays]
    assert models("remove", PAIR.name, "--yes", "--shared").returncode == 0
    assert not draft.exists()


def test_a_pair_that_is_not_complete_needs_nothing() -> None:
    _, draft = put_pair(PAIR)
    models("remove", PAIR.name, "--yes")
    assert not draft.exists(), "the target of the other pairs is not here"


def test_a_model_goes_with_all_its_parts_by_name_or_path(tmp_path: Path) -> None:
    parts = [write_stub(models_dir() / f"big-0000{number}-of-00002.gguf", "Big", n_parts=2) for number in (1, 2)]
    single = write_stub(models_dir() / "x" / "single.gguf", "Single")
    write_stub(models_dir() / "stays.gguf", "Stays")
    assert models("remove", "big", "--yes").returncode == 0
    assert [part.exists() for part in parts] == [False, False]
    assert models("remove", single, "--yes").returncode == 0
    assert [path.name for path in models_dir().iterdir()] == ["stays.gguf"]


def test_what_is_remembered_of_a_download_goes_with_it() -> None:
    path = write_stub(models_dir() / "owner" / "toy" / "toy.gguf", "Toy")
    keep_origin(path, Origin("hf:owner/toy/toy.gguf", "a" * 64, None, None))
    for name in ("toy.gguf.part", "toy.gguf.part.version"):  # of an update that ended early
        path.with_name(name).write_bytes(b"x")
    done = models("remove", path, "--yes")
    assert done.returncode == 0, done.stderr
    assert list(models_dir().iterdir()) == []


def test_without_a_terminal_nothing_is_deleted_unasked() -> None:
    path = write_stub(models_dir() / "a.gguf")
    done = models("remove", "a.gguf", stdin="y\n")
    assert done.returncode == 2
    assert "--yes deletes without asking" in done.stderr
    assert path.exists()


@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [("n", 130, "nothing was deleted"), ("\x03", 130, "nothing was deleted"), ("y", 0, "deleted: ")],
)
def test_on_a_terminal_it_asks_first(answer: str, code: int, said: str) -> None:
    path = write_stub(models_dir() / "a.gguf")
    child = pexpect.spawn(
        COMMAND[0],
        [*COMMAND[1:], "models", "remove", "a"],
        timeout=TIMEOUT_S,
        encoding="utf-8",
        dimensions=(24, 400),
    )
    child.expect_exact(f"to be deleted: {path}")
    child.expect_exact("[y/N]")
    child.send(answer if answer == "\x03" else f"{answer}\r")
    child.expect_exact(f"specdesk: {said}")
    child.expect(pexpect.EOF)
    assert child.before is not None
    assert "stopped" not in child.before
    child.close()
    assert (child.exitstatus, path.exists()) == (code, code != 0)


def test_files_of_others_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    path = write_stub(folder / "a.gguf")
    add(folder)
    for name in (path, "a.gguf"):
        done = models("remove", name, "--yes")
        assert done.returncode == 2
        assert f"{path} is not specdesk's to delete" in done.stderr
        assert f"specdesk models remove {folder} forgets" in done.stderr
    write_stub(tmp_path / "nobody.gguf")
    done = models("remove", tmp_path / "nobody.gguf", "--yes")
    assert done.returncode == 2
    assert "there is no model" in done.stderr
    assert path.exists()


def test_what_was_added_is_forgotten_without_a_question_and_stays(tmp_path: Path) -> None:
    path = write_stub(tmp_path / "a.gguf")
    add(path)
    done = models("remove", path)
    assert (done.returncode, lines(done.stderr)) == (0, [f"specdesk: forgotten: {path}; it stays where it is"])
    assert path.exists()


def test_of_what_was_added_and_is_gone_nothing_is_said_to_stay(tmp_path: Path) -> None:
    folder = tmp_path / "stick"
    folder.mkdir()
    add(folder)
    folder.rmdir()
    done = models("remove", folder)
    assert (done.returncode, lines(done.stderr)) == (0, [f"specdesk: forgotten: {folder}, where nothing is now"])


@pytest.mark.parametrize("place", ["theirs", ".lmstudio/models"])
def test_only_where_an_app_keeps_a_file_the_app_is_named(own_home: Path, place: str) -> None:
    path = write_stub(own_home / place / "a.gguf")
    add(path.parent)
    done = models("remove", path, "--yes")
    app = "LM Studio can; " if "lmstudio" in place else ""
    forgets = f"specdesk models remove {path.parent} forgets what was added"
    assert lines(done.stderr) == [f"specdesk: {path} is not specdesk's to delete ({app}{forgets})"]


def test_models_go_by_all_names_that_they_are_loaded_by(tmp_path: Path) -> None:
    for name in ("owner/toy/toy.gguf", "hf:owner/toy/toy.gguf", "toy", "Toy's own name"):
        path = write_stub(models_dir() / "owner" / "toy" / "toy.gguf", "Toy's own name")
        done = models("remove", name, "--yes")
        assert (done.returncode, path.exists()) == (0, False), done.stderr
    part = path.with_name("toy.gguf.part")
    for name in ("owner/toy/toy.gguf", "hf:owner/toy/toy.gguf"):
        part.parent.mkdir(parents=True)
        part.write_bytes(b"x")
        done = models("remove", name, "--yes")
        assert (done.returncode, part.exists()) == (0, False), done.stderr
    done = models("remove", "hf:owner/toy/toy.gguf", "--yes")
    assert lines(done.stderr) == ["specdesk: hf:owner/toy/toy.gguf is not on this disk"]


def test_a_link_goes_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    real = write_stub(tmp_path / "real.gguf")
    models_dir().mkdir(parents=True)
    (models_dir() / "link.gguf").symlink_to(real)
    assert models("remove", "link.gguf", "--yes").returncode == 0
    assert (real.exists(), list(models_dir().iterdir())) == (True, [])


def test_several_of_one_name_and_none() -> None:
    paths = [write_stub(models_dir() / folder / "model.gguf", "Same") for folder in "ab"]
    done = models("remove", "same", "--yes")
    assert done.returncode == 2
    assert f"give a path: {paths[0]}, {paths[1]}" in done.stderr
    done = models("remove", "modle.gguf", "--yes")
    assert lines(done.stderr) == [
        'specdesk: there is no model "modle.gguf" on this disk (the nearest: model.gguf, model.gguf)'
    ]
    done = models("remove", "--shared", "model.gguf", "--yes")
    assert "--shared goes with the name of one" in done.stderr
    assert all(path.exists() for path in paths)


def test_what_is_being_downloaded_is_not_deleted() -> None:
    target, draft = put_pair(PAIR)
    with FileLock(target.with_name(f".{target.name}.lock")):
        done = models("remove", PAIR.name, "--yes")
    assert done.returncode == 5
    assert f"{target.name} is being downloaded now (stop that first)" in done.stderr
    assert target.exists()
    assert draft.exists()


@pytest.mark.parametrize("named", ["path", "part", "name"])
def test_what_has_come_of_a_download_is_removed_with_all_that_is_known_of_it(named: str) -> None:
    path = models_dir() / "owner" / "toy" / "x.gguf"
    pieces = path.with_name("x.gguf.pieces")
    pieces.mkdir(parents=True)
    (pieces / "one.whl").write_bytes(b"x")
    for beside in ("x.gguf.part", "x.gguf.part.version", "x.gguf.pieces.json", ".x.gguf.lock"):
        path.with_name(beside).write_bytes(b"x" * 100)
    wanted = {"path": path, "part": path.with_name("x.gguf.part"), "name": "X.gguf"}[named]
    done = models("remove", wanted, "--yes")
    assert (done.returncode, lines(done.stderr)) == (
        0,
        [f"specdesk: deleted: {path}.part", "specdesk: 100 bytes freed"],
    )
    assert list(models_dir().iterdir()) == []


def test_a_split_model_goes_with_what_has_come_of_its_other_parts() -> None:
    names = [f"big-0000{number}-of-00003.gguf" for number in (1, 2, 3)]
    here, half = (models_dir() / "owner" / "big" / name for name in names[:2])
    write_stub(here, "Big", n_parts=3)
    half.with_name(f"{half.name}.part").write_bytes(b"x" * 100)
    done = models("remove", names[0], "--yes")
    assert done.returncode == 0, done.stderr
    assert list(models_dir().iterdir()) == []


def test_a_later_part_names_its_model_too() -> None:
    names = [f"big-0000{number}-of-00002.gguf" for number in (1, 2)]
    for name in names:
        write_stub(models_dir() / "owner" / "big" / name, "Big", n_parts=2)
    assert models("remove", names[1], "--yes").returncode == 0
    assert list(models_dir().iterdir()) == []
