"""Which models are found on a disk, and what is said of those that cannot be loaded."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from specdesk.core.interrupted import Interrupted
from specdesk.hub.gguf.header import GgufHeader, read_header
from specdesk.hub.here.local_models import Library, LocalModel, verdict
from tests.tiny import gguf_models
from tests.tiny.gguf_stubs import WORDS, lock, write_stub


def found(folder: Path, *files: Path) -> dict[str, LocalModel]:
    return {model.path.name: model for model in Library(folder, files).models()}


def test_models_are_found_in_folders_of_folders(tmp_path: Path) -> None:
    write_stub(tmp_path / "owner" / "repo" / "a.gguf", "Alpha")
    write_stub(tmp_path / "B.GGUF", "")
    (tmp_path / "notes.txt").write_text("no model")
    (tmp_path / "a.gguf.part").write_bytes(b"GGUF")
    models = found(tmp_path)
    assert {name: (model.name, model.problem) for name, model in models.items()} == {
        "a.gguf": ("Alpha", ""),
        "B.GGUF": ("B", ""),
    }
    assert models["a.gguf"].size_bytes == models["a.gguf"].path.stat().st_size


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert found(tmp_path / "none") == {}


def test_given_files_come_first_and_each_once(tmp_path: Path) -> None:
    inside = write_stub(tmp_path / "models" / "b.gguf")
    outside = write_stub(tmp_path / "a.gguf")
    link = tmp_path / "models" / "link.gguf"
    link.symlink_to(inside)
    paths = [model.path for model in Library(tmp_path / "models", [outside, inside]).models()]
    assert paths == [outside, inside]


def test_what_cannot_chat_is_listed_with_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_stub(tmp_path / "mmproj.gguf", architecture="clip", purpose="mmproj", words=[])
    write_stub(tmp_path / "old-mmproj.gguf", architecture="clip", purpose=None, words=[])
    write_stub(tmp_path / "embedder.gguf", architecture="nomic-bert")
    write_stub(tmp_path / "no-words.gguf", words=[])
    (tmp_path / "damaged.gguf").write_bytes(b"GGUF\3\0\0\0")
    (tmp_path / "gone.gguf").symlink_to(tmp_path / "nowhere")
    lock(monkeypatch, write_stub(tmp_path / "locked.gguf"))
    assert {name: model.problem for name, model in found(tmp_path).items()} == {
        "mmproj.gguf": "it is no language model but what goes with one (mmproj)",
        "old-mmproj.gguf": "it is the eyes of another model (a projector), no language model",
        "embedder.gguf": "it is an encoder, which writes no text",
        "no-words.gguf": "it has no vocabulary",
        "damaged.gguf": "it is cut off inside its header, or damaged",
        "gone.gguf": "it cannot be read: No such file or directory",
        "locked.gguf": "it cannot be read: Permission denied",
    }


@pytest.mark.parametrize(
    ("architecture", "problem"),
    [
        *((name, "it is an encoder, which writes no text") for name in ("bert", "llama-embed", "gemma-embedding")),
        ("t5", "it reads with an encoder, which specdesk does not run"),
        ("llada", "it writes a whole text at once (diffusion), and not token by token"),
        ("llama", ""),
    ],
)
def test_architectures_that_write_no_text(tmp_path: Path, architecture: str, problem: str) -> None:
    write_stub(tmp_path / "a.gguf", architecture=architecture)
    (model,) = found(tmp_path).values()
    assert model.problem == problem


@pytest.mark.parametrize("causal", [False, True, None])
def test_a_file_that_says_whether_it_is_an_encoder(tmp_path: Path, causal: bool | None) -> None:
    gguf_models.write(tmp_path / "a.gguf", replace(gguf_models.TARGET, causal=causal))
    (model,) = found(tmp_path).values()
    assert model.problem == ("it is an encoder, which writes no text" if causal is False else "")


def test_tokens_that_llama_cpp_cannot_tell_apart(tmp_path: Path) -> None:
    """It ends the process when it loads such a file. Empty ones it tells apart."""
    write_stub(tmp_path / "twice.gguf", words=[*WORDS, "", "", "b"])
    write_stub(tmp_path / "empty.gguf", words=[*WORDS, "", ""])
    assert {name: model.problem for name, model in found(tmp_path).items()} == {
        "twice.gguf": "two of its tokens have the same text, 4 and 8, 'b': llama.cpp cannot load it",
        "empty.gguf": "",
    }


def test_a_split_model_is_one_and_says_how_much_of_it_is_here(tmp_path: Path) -> None:
    first = write_stub(tmp_path / "big-00001-of-00003.gguf", "Big", n_parts=3)
    second, third = (tmp_path / f"big-0000{number}-of-00003.gguf" for number in (2, 3))
    write_stub(second, words=[])
    (model,) = found(tmp_path).values()
    said = "incomplete: 2 of 3 parts; big-00003-of-00003.gguf is missing"
    assert (model.path, model.problem, model.parts) == (first, said, (second,))
    write_stub(third, words=[])
    (model,) = found(tmp_path).values()
    size_bytes = sum(part.stat().st_size for part in (first, second, third))
    assert (model.problem, model.size_bytes, model.parts) == ("", size_bytes, (second, third))


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("empty", "it is not a GGUF file"),
        ("cut off", "it is cut off: it has"),
        ("gone", "it cannot be read: Too many levels of symbolic links"),
    ],
)
def test_a_split_model_is_no_better_than_its_parts(tmp_path: Path, damage: str, said: str) -> None:
    write_stub(tmp_path / "big-00001-of-00002.gguf", "Big", n_parts=2)
    second = write_stub(tmp_path / "big-00002-of-00002.gguf", words=[], tensors={"a": (64, 2)})
    if damage == "gone":
        second.unlink()
        second.symlink_to(second)
    else:
        second.write_bytes(b"" if damage == "empty" else second.read_bytes()[:-1])
    (model,) = found(tmp_path).values()
    assert said.removeprefix("it ") in model.problem


def test_parts_without_their_first_are_one_model_too(tmp_path: Path) -> None:
    write_stub(tmp_path / "lost-00002-of-00003.gguf", n_parts=3, words=[])
    (tmp_path / "lost-00003-of-00003.gguf").write_bytes(b"x")
    (model,) = found(tmp_path).values()
    assert model.problem == "incomplete: 2 of 3 parts; lost-00001-of-00003.gguf is missing"


def test_a_part_that_went_is_missed_the_next_time(tmp_path: Path) -> None:
    write_stub(tmp_path / "big-00001-of-00002.gguf", n_parts=2)
    second = write_stub(tmp_path / "big-00002-of-00002.gguf")
    library = Library(tmp_path)
    assert [model.problem for model in library.models()] == [""]
    second.unlink()
    assert [model.problem for model in library.models()] == [
        "incomplete: 1 of 2 parts; big-00002-of-00002.gguf is missing"
    ]


def test_a_later_part_that_is_given_stands_for_its_model(tmp_path: Path) -> None:
    first = write_stub(tmp_path / "big-00001-of-00002.gguf", n_parts=2)
    second = write_stub(tmp_path / "big-00002-of-00002.gguf")
    assert [model.path for model in Library(tmp_path / "none", [second]).models()] == [first]


def test_a_name_that_only_looks_like_a_part_and_a_part_that_does_not(tmp_path: Path) -> None:
    write_stub(tmp_path / "best-of-breed.gguf")
    write_stub(tmp_path / "renamed.gguf", n_parts=2)
    assert {name: model.problem for name, model in found(tmp_path).items()} == {
        "best-of-breed.gguf": "",
        "renamed.gguf": "it is one of 2 parts of a model, which llama.cpp finds by names like "
        "big-00001-of-00003.gguf only",
    }


def test_a_file_is_read_again_only_when_it_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_stub(tmp_path / "a.gguf", "Before")
    read: list[Path] = []

    def counted(path: Path) -> GgufHeader:
        read.append(path)
        return read_header(path)

    monkeypatch.setattr("specdesk.hub.here.local_models.read_header", counted)
    known = Library(tmp_path)
    assert [model.name for model in known.models()] == [model.name for model in known.models()] == ["Before"]
    assert len(read) == 1
    write_stub(path, "Afterwards")
    assert [model.name for model in known.models()] == ["Afterwards"]


def test_looking_can_be_stopped(tmp_path: Path) -> None:
    for name in "abc":
        write_stub(tmp_path / f"{name}.gguf")
    stop = threading.Event()
    models = Library(tmp_path).models(stop)
    assert next(models).path.name == "a.gguf"
    stop.set()
    with pytest.raises(Interrupted):
        next(models)


def test_a_pair_is_judged_by_what_its_files_say(tmp_path: Path) -> None:
    write_stub(tmp_path / "target.gguf")
    write_stub(tmp_path / "draft.gguf", words=[*WORDS[:4], "[/b]", "c"])
    write_stub(tmp_path / "padded.gguf", n_padding=3)
    models = found(tmp_path)
    target, draft, padded = models["target.gguf"], models["draft.gguf"], models["padded.gguf"]
    assert verdict(target, draft).sentence == "refused: token 4 is '[/b]' in the draft and 'b' in the target"
    assert verdict(target, padded).sentence == "usable: all 6 tokens are the same but for padding"
    draft.path.unlink()
    assert verdict(target, draft).sentence == "refused: draft.gguf: there is no such file"


def test_what_cannot_be_loaded_cannot_draft(tmp_path: Path) -> None:
    write_stub(tmp_path / "target.gguf")
    write_stub(tmp_path / "mmproj.gguf", architecture="clip", purpose="mmproj", words=[])
    models = found(tmp_path)
    assert verdict(models["target.gguf"], models["mmproj.gguf"]).sentence == (
        "refused: mmproj.gguf cannot be loaded: it is no language model but what goes with one (mmproj)"
    )


def test_memory_is_weights_and_cache(tmp_path: Path) -> None:
    write_stub(tmp_path / "a.gguf")
    (model,) = found(tmp_path).values()
    assert model.header is not None
    assert model.memory == model.header.memory(model.size_bytes)
