"""`specdesk models` from the shell."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from specdesk.hub.artifacts import Artifact
from specdesk.hub.gguf.file_types import FILE_TYPES
from specdesk.hub.here.added import added_paths
from specdesk.hub.here.inventory import quantization_of
from specdesk.hub.here.on_disk import file_path
from specdesk.hub.manifest import load_manifest
from specdesk.paths import added_file, models_dir
from tests.cli.shell import lines, specdesk
from tests.tiny.gguf_stubs import write_stub

PAIR = "qwen2.5-coder-1.5b"


def models(*args: object, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return specdesk("models", *args, stdin=stdin)


def put(artifact: Artifact) -> Path:
    """A file of the artifact's name and size, which takes no room: a stub with a hole behind it."""
    path = write_stub(file_path(artifact, artifact.files[0]), artifact.name)
    with path.open("r+b") as file:
        file.truncate(artifact.size_bytes)
    return path


def row(text: str, *words: str) -> list[str]:
    """The only line that holds the words, split where columns part."""
    (line,) = (line for line in text.splitlines() if all(word in line for word in words))
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_pairs_are_here_partly_here_or_to_be_had(tmp_path: Path) -> None:
    pair = load_manifest().pair(PAIR)
    put(pair.draft)
    done = models()
    assert (done.returncode, done.stderr) == (0, "")
    left = ["1.6 GB, 1.1 GB to fetch", "Q4_K_M + Q4_K_M", "Apache-2.0"]
    assert row(done.stdout, f"{PAIR} (default)") == ["partly here", f"{PAIR} (default)", *left]
    assert row(done.stdout, "qwen3-4b")[:3] == ["to be had", "qwen3-4b", "3.1 GB"]
    put(pair.target)
    done = models("list")
    assert row(done.stdout, f"{PAIR} (default)")[:3] == ["here", f"{PAIR} (default)", "1.6 GB"]
    name, size, quantization, licence, pairs, file = row(done.stdout, pair.draft.files[0].path)
    assert (name, size, quantization, licence) == (pair.draft.name, "491.4 MB", "Q4_K_M", "Apache-2.0")
    assert (pairs, file) == (PAIR, f"{pair.draft.repo}/{pair.draft.files[0].path}")


@pytest.mark.parametrize("left_bytes", [10**6, 0], ids=["some", "all, not checked"])
def test_what_has_come_of_a_download_counts(left_bytes: int) -> None:
    pair = load_manifest().pair(PAIR)
    (file,) = pair.target.files
    path = file_path(pair.target, file)
    path.parent.mkdir(parents=True)
    with path.with_name(f"{path.name}.part").open("wb") as part:
        part.truncate(file.size_bytes - left_bytes)
    state = next(state for state in json.loads(models("--json").stdout)["pairs"] if state["name"] == PAIR)
    assert (state["state"], state["here_bytes"]) == ("partly here", file.size_bytes - left_bytes)


def test_downloads_that_are_not_finished_are_listed(tmp_path: Path) -> None:
    """Of whatever was asked for: pairs know their parts, and who else would tell of those of a hub or an address?"""
    pair = load_manifest().pair(PAIR)
    recommended = file_path(pair.target, pair.target.files[0])
    other = models_dir() / "127.0.0.1_80" / "o" / "x.gguf"
    for path, n_bytes in ((recommended, 2000), (other, 1000)):
        path.parent.mkdir(parents=True)
        path.with_name(f"{path.name}.part").write_bytes(b"x" * n_bytes)
    shown = models().stdout
    assert "Unfinished downloads: the same one goes on, specdesk models remove FILE takes it away" in shown
    assert row(shown, str(other)) == [str(other), "1.0 kB"]
    assert row(shown, str(recommended)) == [str(recommended), "2.0 kB", PAIR]
    first, second = json.loads(models("--json").stdout)["unfinished"]
    assert first == {"path": str(other), "part": f"{other}.part", "here_bytes": 1000, "pairs": []}
    assert (second["path"], second["pairs"]) == (str(recommended), [PAIR])


def test_files_that_cannot_be_loaded_stand_with_the_reason(tmp_path: Path) -> None:
    (models_dir() / "x").mkdir(parents=True)
    (models_dir() / "x" / "damaged.gguf").write_bytes(b"GGUF\3\0\0\0")
    write_stub(models_dir() / "big-00001-of-00003.gguf", n_parts=3)
    write_stub(models_dir() / "mmproj.gguf", architecture="clip", purpose="mmproj", words=[])
    write_stub(models_dir() / "evil.gguf", "a\x1b[31m\nb [red]")
    done = models()
    assert done.returncode == 0
    broken = done.stdout.partition("Cannot be loaded\n")[2]
    assert "damaged.gguf (8 bytes): it is cut off inside its header, or damaged" in broken
    assert "incomplete: 1 of 3 parts; big-00002-of-00003.gguf is missing" in broken
    assert "it is no language model but what goes with one (mmproj)" in broken
    assert row(done.stdout, "evil.gguf")[0] == "a␛[31m b [red]"


def test_the_list_as_json(tmp_path: Path) -> None:
    path = write_stub(tmp_path / "x" / "a.gguf", "Alpha")
    assert models("add", path).returncode == 0
    shelf = json.loads(models("list", "--json").stdout)
    assert shelf["models_dir"] == str(models_dir())
    (file,) = shelf["files"]
    digest = file["vocabulary"].pop("sha256")
    assert len(digest) == 64
    assert file == {
        "name": "Alpha",
        "path": str(path),
        "parts": [],
        "added": str(path),
        "size_bytes": path.stat().st_size,
        "problem": None,
        "architecture": "llama",
        "quantization": "Q4_K_M",
        "n_ctx_train": 4096,
        "vocabulary": {"tokens": 6},
        "licence": None,
        "pairs": [],
    }
    pair = next(pair for pair in shelf["pairs"] if pair["name"] == PAIR)
    assert pair["default"]
    assert set(pair) == {
        *("name", "default", "state", "size_bytes", "here_bytes", "memory_bytes", "summary", "target", "draft")
    }
    assert pair["draft"] == {
        "name": "qwen2.5-coder-0.5b-q4_k_m",
        "repository": "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
        "files": ["qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"],
        "size_bytes": 491400064,
        "quantization": "Q4_K_M",
        "licence": "Apache-2.0",
    }


def test_what_was_added_is_used_in_place_and_forgotten_again(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    path = write_stub(folder / "deep" / "a.gguf", "Alpha")
    done = models("add", folder)
    assert (done.returncode, done.stdout) == (0, "")
    assert lines(done.stderr) == [f"specdesk: added: {folder}, 1 model"]
    assert lines(models("add", folder).stderr) == [f"specdesk: had been added before: {folder}, 1 model"]
    assert lines(models("add", path).stderr) == [f"specdesk: nothing to add: {path} is found in {folder} already"]
    assert f"Added, {folder}\n" in models().stdout
    assert row(models().stdout, "Alpha")[-1] == "deep/a.gguf"
    done = models("remove", folder)
    assert (done.returncode, lines(done.stderr)) == (
        0,
        [f"specdesk: forgotten: {folder}; its files stay where they are"],
    )
    assert path.exists()
    assert "Alpha" not in models().stdout


def test_a_later_part_adds_its_model(tmp_path: Path) -> None:
    first = write_stub(tmp_path / "big-00001-of-00002.gguf", n_parts=2)
    models("add", write_stub(tmp_path / "big-00002-of-00002.gguf", n_parts=2))
    assert added_paths() == (first,)


@pytest.mark.parametrize(
    ("name", "content", "code", "said"),
    [
        ("gone.gguf", None, 2, "there is nothing at"),
        ("notes.gguf", b"no model", 3, "cannot be added: it is not a GGUF file"),
    ],
)
def test_what_cannot_be_added_is_refused_and_nothing_with_it(
    name: str, content: bytes | None, code: int, said: str, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    done = models("add", write_stub(tmp_path / "good.gguf"), tmp_path / name)
    assert (done.returncode, added_paths()) == (code, ())
    assert said in done.stderr


def test_a_file_that_cannot_chat_is_added_with_a_word(tmp_path: Path) -> None:
    path = write_stub(tmp_path / "mmproj.gguf", architecture="clip", purpose="mmproj", words=[])
    assert "mmproj.gguf cannot be loaded: it is no language model" in models("add", path).stderr


def test_other_apps_are_offered_until_they_are_added(own_home: Path) -> None:
    folder = own_home / ".lmstudio" / "models"
    write_stub(folder / "owner" / "repo" / "a.gguf", "Alpha")
    offer = f"specdesk: LM Studio keeps files in {folder}: specdesk models add --from lm-studio uses them"
    assert lines(models().stderr) == [offer]
    assert "--from lm-studio" in models("add").stderr
    assert lines(models("add", "--from", "lm-studio").stderr) == [f"specdesk: added: {folder}, 1 model"]
    done = models()
    assert "Alpha" in done.stdout
    assert done.stderr == ""


def test_several_apps_are_added_at_once(own_home: Path) -> None:
    folders = [own_home / ".ollama" / "models", own_home / ".lmstudio" / "models"]
    for folder in folders:
        folder.mkdir(parents=True)
    done = models("add", "--from", "ollama", "--from", "lm-studio", "--from", "ollama")
    said = [f"specdesk: added: {folder}, no models yet" for folder in folders]
    assert (done.returncode, lines(done.stderr)) == (0, said), "each once, in that order"


def test_an_app_that_is_not_there_is_said_with_where_it_was_looked_for(own_home: Path) -> None:
    done = models("add", "--from", "lm-studio")
    assert done.returncode == 2
    assert f"LM Studio keeps nothing in {own_home / '.lmstudio' / 'models'} or " in done.stderr


def test_nothing_to_add_and_nothing_to_forget(tmp_path: Path) -> None:
    done = models("add")
    assert (done.returncode, lines(done.stderr)) == (2, ["specdesk: there is nothing to add (give a file or a folder)"])
    done = models("remove", tmp_path)
    assert done.returncode == 2
    assert f'there is no model "{tmp_path}" on this disk' in done.stderr


def test_a_damaged_record_of_what_was_added_does_not_end_the_list(tmp_path: Path) -> None:
    write_stub(models_dir() / "a.gguf", "Alpha")
    added_file().write_text("{")
    done = models()
    assert (done.returncode, done.stderr) == (0, "")
    assert "Alpha" in done.stdout
    assert "which files were added cannot be read" in done.stdout
    done = models("add", tmp_path)
    assert done.returncode == 5
    assert "mend it, or delete it" in done.stderr


def test_json_in_front_of_another_command_is_refused(tmp_path: Path) -> None:
    done = models("--json", "add", tmp_path)
    assert done.returncode == 2
    assert "--json belongs behind the command" in done.stderr


def test_it_works_without_an_engine(tmp_path: Path) -> None:
    write_stub(models_dir() / "a.gguf", "Alpha")
    code = (
        "import sys; sys.modules['llama_cpp'] = None; sys.argv = ['specdesk', 'models']\n"
        "from specdesk.cli.main import exit_code\n"
        "code = exit_code()\n"
        "print(sorted({'huggingface_hub.hf_api', 'httpx2', 'textual', 'numpy', 'sqlite3'} & set(sys.modules)))\n"
        "sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "Alpha" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_formats_of_recommended_models_are_known_ones() -> None:
    assert {quantization_of(artifact) for artifact in load_manifest().artifacts} <= set(FILE_TYPES.values())
